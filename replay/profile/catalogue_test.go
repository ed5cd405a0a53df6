package profile

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// archetypes are the workloads of inference-perf's catalogue where they are at hand, and one that is written here.
func archetypes(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"by-hand": []byte(byHand), "recorded": []byte(recorded)}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("TIDEMARK_SHARED"), "traces/inference-perf/workload-catalog/*.json"))
	if len(paths) == 0 {
		t.Log("LEFT OUT: inference-perf's own workloads; say where they are in TIDEMARK_SHARED")
	} else if len(paths) != 7 {
		t.Fatalf("%d workloads, not 7", len(paths))
	}
	for _, path := range paths {
		content := must.Get(os.ReadFile(path))(t)
		all[strings.TrimSuffix(filepath.Base(path), ".config.json")] = content
	}
	return all
}

// madeOnce solves a workload once for all tests.
func madeOnce(name string, content []byte) (Archetype, error) {
	if made, ok := madeBefore[name]; ok {
		return made, nil
	}
	made, err := FromCatalogue(name, content, 1)
	madeBefore[name] = made
	return made, err
}

var madeBefore = map[string]Archetype{}

// recorded is what a recorded workload has: no laws, prompts of whole calls, no objectives.
const recorded = `{
  "input_sequence_length": {"min": 0, "max": 340000, "mean": 9000, "standard_deviation": 20000},
  "output_sequence_length": {"min": 0, "max": 14000, "mean": 600, "standard_deviation": 2000},
  "number_of_turns": {"min": 1, "max": 300, "mean": 12, "standard_deviation": 13},
  "time_between_turns": {"min": 0.001, "max": 700, "mean": 13, "standard_deviation": 60},
  "shared_prefix_tokens_per_call": {"min": 0, "max": 330000, "mean": 8000, "standard_deviation": 19000},
  "metadata": {"prefill_decode_ratio": 15}
}`

const byHand = `{
  "input_sequence_length": {"min": 100, "max": 9000, "mean": 2000, "standard_deviation": 1500, "distribution_type": "log_normal"},
  "output_sequence_length": {"min": 20, "max": 800, "mean": 300, "standard_deviation": 150, "distribution_type": "normal"},
  "number_of_turns": {"min": 1, "max": 9, "mean": 3, "standard_deviation": 2, "distribution_type": "log_normal"},
  "time_between_turns": {"min": 1, "max": 90, "mean": 20, "standard_deviation": 15, "distribution_type": "exponential"},
  "system_prompt": {"min": 640, "max": 640, "mean": 640, "standard_deviation": 0, "distribution_type": "normal"},
  "input_sequence_length_per_turn": {"min": 10, "max": 500, "mean": 60, "standard_deviation": 40, "distribution_type": "bimodal"},
  "metadata": {"slos": {"ttft_p99_ms": 1500, "ttft_p99_ms_justification": "a reason\nof two lines", "itl_p95_ms": 80}}
}`

// What is drawn has the means, the bounds and, where the file's own bounds allow it, the deviations that the file says.
// They are counted from the plan, not from the laws that the profile was solved with.
func TestArchetypesAreDrawnAsTheirFilesSay(t *testing.T) {
	for name, content := range archetypes(t) {
		made, err := madeOnce(name, content)
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := Parse(name, made.Profile)
		if err != nil {
			t.Fatal(name, err)
		}
		var c catalogued
		must.Do(t, json.Unmarshal(content, &c))
		p.Sessions = map[string]int64{"code-generation": 250}[name]
		p.Sessions = cmp.Or(p.Sessions, 2000)
		first, later, output, turns, think := talliesOf(t, p)
		notes := strings.Join(made.Notes, "\n")
		see := func(key string, of tally, m *moments) {
			t.Helper()
			chance := of.sd() / m.Mean / math.Sqrt(of.n) // of independent draws
			if off := math.Abs(of.mean()/m.Mean - 1); off > 0.015+2*chance {
				t.Errorf("%s: %s: a mean of %g, the file says %g", name, key, of.mean(), m.Mean)
			}
			block := float64(p.BlockTokens) // the system prompt is of whole blocks, rounded up or down
			if of.least < math.Floor(m.Min) && key != "input_sequence_length" || of.most > m.Max+map[bool]float64{true: block}[key == "input_sequence_length"] {
				t.Errorf("%s: %s: from %g to %g, the file says %g to %g", name, key, of.least, of.most, m.Min, m.Max)
			}
			// Of tails that few draws reach, the test of the formula says more.
			if off := math.Abs(of.sd()/max(m.SD, 1e-9) - 1); m.SD > 0 && m.SD < 5*m.Mean && !strings.Contains(notes, key+":") && off > 0.1 {
				t.Errorf("%s: %s: a deviation of %g, the file says %g, and nothing is said of it", name, key, of.sd(), m.SD)
			}
			t.Logf("%-32s %-32s mean %10.1f of %10.1f, sd %10.1f of %10.1f", name, key, of.mean(), m.Mean, of.sd(), m.SD)
		}
		see("output_sequence_length", output, c.Output)
		if c.Turns != nil && c.Turns.Max > 1 {
			see("number_of_turns", turns, c.Turns)
			see("time_between_turns", think, c.Wait)
		}
		if c.PerTurn != nil {
			see("input_sequence_length", first, c.Input)
			if c.PerTurn.Mean > 0 {
				see("input_sequence_length_per_turn", later, c.PerTurn)
			}
		}
	}
}

// tally counts a quantity.
type tally struct{ n, sum, squares, least, most float64 }

func (a *tally) add(v float64) {
	if a.n == 0 {
		a.least, a.most = v, v
	}
	a.n, a.sum, a.squares = a.n+1, a.sum+v, a.squares+v*v
	a.least, a.most = min(a.least, v), max(a.most, v)
}

func (a tally) mean() float64 { return a.sum / a.n }
func (a tally) sd() float64   { return math.Sqrt(a.squares/a.n - a.mean()*a.mean()) }

// talliesOf counts the requests of a plan. New text is what the prompt has beyond the one before and its answer.
func talliesOf(t *testing.T, p *Profile) (first, later, output, turns, think tally) {
	t.Helper()
	requests := must.Get(p.Requests(Options{Seed: 11, Duration: long}))(t)
	system := 0
	if s := p.Classes[0].Prefix.Shared; s != nil {
		system = int(s.Tokens.a)
	}
	last := map[string]int{} // session -> turns so far
	sessions := 0.0
	for r, err := range requests {
		must.Do(t, err)
		output.add(float64(r.OutputTokens))
		if r.Turn == 0 {
			sessions++
			first.add(float64(min(max(r.InputTokens-system, 1), r.InputTokens)))
		} else {
			later.add(float64(r.InputTokens - r.HistoryTokens))
			think.add(r.Think.Seconds())
		}
		last[r.Session]++
	}
	for name, n := range last {
		if name != "" {
			turns.add(float64(n))
		}
	}
	for range last[""] { // sessions of one turn have no name
		turns.add(1)
	}
	if turns.n != sessions {
		t.Fatalf("%g sessions, %g counted", sessions, turns.n)
	}
	return first, later, output, turns, think
}

// A log-normal between bounds has its mean in closed form: what lies below and above is at the bounds.
func TestTheMeanOfABoundedLogNormalByItsFormula(t *testing.T) {
	law := regexp.MustCompile(`(turns|think_s|input_tokens|output_tokens): \{lognormal: \{mu: ([-0-9.]+), sigma: ([0-9.]+)\}, min: ([0-9.]+), max: ([0-9.]+)\}`)
	seen := 0
	for name, content := range archetypes(t) {
		made, err := madeOnce(name, content)
		if err != nil {
			t.Fatal(name, err)
		}
		var c catalogued
		_ = json.Unmarshal(content, &c)
		for _, m := range law.FindAllStringSubmatch(string(made.Profile), -1) {
			mu, sigma, low, high := number(m[2]), number(m[3]), number(m[4]), number(m[5])
			below := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
			a, b := (math.Log(low)-mu)/sigma, (math.Log(high)-mu)/sigma
			mean := low*below(a) + high*(1-below(b)) + math.Exp(mu+sigma*sigma/2)*(below(b-sigma)-below(a-sigma))
			asked := map[string][]*moments{"turns": {c.Turns}, "think_s": {c.Wait}, "output_tokens": {c.Output}, "input_tokens": {c.Input, c.PerTurn}}[m[1]]
			near := math.Inf(1)
			for _, moments := range asked {
				if moments != nil && moments.Mean > 0 {
					near = min(near, math.Abs(mean/moments.Mean-1))
				}
			}
			if m[1] == "input_tokens" && c.Shared != nil { // made from whole prompts
				continue
			}
			seen++
			if slack := map[bool]float64{true: 0.05, false: 0.01}[m[1] == "turns"]; near > slack { // turns are rounded to whole ones
				t.Errorf("%s: %s: by the formula a mean of %g, %.1f %% from the file's", name, m[0], mean, 100*near)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d laws were seen", seen)
	}
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// A recorded workload has prompts of whole calls: the profile's grow to the same mean.
func TestARecordedWorkloadsPromptsHaveItsMean(t *testing.T) {
	made := must.Get(madeOnce("recorded", []byte(recorded)))(t)
	p := must.Get(Parse("recorded", made.Profile))(t)
	p.Sessions = 20_000
	requests := must.Get(p.Requests(Options{Seed: 5, Duration: long}))(t)
	var prompts tally
	for r, err := range requests {
		must.Do(t, err)
		prompts.add(float64(r.InputTokens))
	}
	if off := math.Abs(prompts.mean()/9000 - 1); off > 0.1 {
		t.Errorf("a mean prompt of %g, the file says 9000", prompts.mean())
	}
	t.Logf("mean prompt %.0f", prompts.mean())
	if made.SLO != nil {
		t.Errorf("it has no objectives, and %s", made.SLO)
	}
}

// The control has the same means and nothing that varies; the objectives keep their reasons, as comments of whole lines.
func TestTheControlAndTheObjectivesOfAnArchetype(t *testing.T) {
	made := must.Get(FromCatalogue("by-hand", []byte(byHand), 3))(t)
	must.Say(t, string(made.Average), "turns: 3\n", "first: {input_tokens: 2000}", "think_s: 20\n", "input_tokens: 60 ", "output_tokens: 300\n", "rate_per_s: 1 ")
	want := `schema: tidemark.slo/2
name: "by-hand"

# From the same config.json as the profile, with its reasons.
objectives:
  - {metric: itl, percentile: 95, at_most: 80ms}
  # a reason of two lines
  - {metric: ttft, percentile: 99, at_most: 1.5s}
`
	if string(made.SLO) != want {
		t.Errorf("%s\nwant\n%s", made.SLO, want)
	}
}

func TestWhatIsNoArchetypeIsRefused(t *testing.T) {
	for says, change := range map[string][2]string{
		"must ascend":         {`"min": 100, "max": 9000`, `"min": 100, "max": 900`},
		"is not known":        {"bimodal", "zipf"},
		"must not be":         {`"standard_deviation": 1500`, `"standard_deviation": -1`},
		"is missing":          {"output_sequence_length", "osl"},
		"metadata.slos.ttft_": {"ttft_p99_ms\": 1500", "ttft_p99_s\": 1500"},
	} {
		content := strings.Replace(byHand, change[0], change[1], 1)
		if content == byHand {
			t.Fatal(change)
		}
		must.Refuse(FromCatalogue("x", []byte(content), 1))(t, says)
	}
}
