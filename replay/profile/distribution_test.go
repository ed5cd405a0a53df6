package profile

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// one is a profile with a single class, whose lines may be given anew.
func one(change ...string) string {
	lines := map[string]string{"arrivals": "{process: poisson, rate_per_s: 2}", "duration": "10m", "mode": "open",
		"share": "1", "input_tokens": "100", "output_tokens": "10"}
	for i := 0; i < len(change); i += 2 {
		lines[change[i]] = change[i+1]
	}
	text := "schema: tidemark.profile/1\nname: test\n"
	for _, key := range []string{"duration", "mode", "arrivals"} {
		text += fmt.Sprintf("%s: %s\n", key, lines[key])
	}
	text += "classes:\n  - name: all\n"
	for _, key := range []string{"share", "input_tokens", "output_tokens", "turns", "think_s", "prefix", "joint", "first"} {
		if lines[key] != "" {
			text += fmt.Sprintf("    %s: %s\n", key, lines[key])
		}
	}
	return text
}

func mustParse(t testing.TB, text string) *Profile {
	t.Helper()
	p, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

func TestQuantileFunctions(t *testing.T) {
	for _, test := range []struct {
		why, key, text string
		rank, want     float64
	}{
		{"a constant", "input_tokens", "64", 0.3, 64},
		{"the middle of five whole numbers", "input_tokens", "{uniform: {from: 3, until: 7}}", 0.5, 5},
		{"the last of five has a fifth", "input_tokens", "{uniform: {from: 3, until: 7}}", 0.81, 7},
		{"seconds need not be whole", "think_s", "{uniform: {from: 1, until: 2}}", 0.25, 1.25},
		{"halfway between two quantiles lies their geometric mean", "input_tokens", "{quantiles: {p10: 100, p50: 900}}", 0.3, 300},
		{"beyond the last one goes the log-normal through the last two: 900 * 9", "input_tokens", "{quantiles: {p5: 100, p50: 900}}", 0.95, 8100},
		{"p100 is the end", "input_tokens", "{quantiles: {p50: 100, p100: 900}}", 0.999999, 900},
		{"a log-normal's p95", "output_tokens", "{lognormal: {p50: 978, p95: 1720}}", 0.95, 1720},
		{"by mu and sigma: e^7 = 1096.6", "output_tokens", "{lognormal: {mu: 7, sigma: 1}}", 0.5, 1097},
		{"cut off", "output_tokens", "{lognormal: {p50: 978, p95: 1720}, max: 1000}", 0.95, 1000},
		{"no less than", "output_tokens", "{lognormal: {p50: 978, p95: 1720}, min: 900}", 0.05, 900},
		{"a quarter of the way into the second bucket", "input_tokens", "{histogram: [{from: 0, until: 100, count: 1}, {from: 100, until: 500, count: 1}]}", 0.625, 200},
		{"a gap between buckets stays empty", "input_tokens", "{histogram: [{from: 0, until: 100, count: 1}, {from: 300, until: 500, count: 1}]}", 0.5001, 301},
		{"exponential: mean * ln 2", "think_s", "{exponential: {mean: 10}}", 0.5, 6.9315},
		{"gamma of shape 1 is exponential", "think_s", "{gamma: {mean: 10, shape: 1}}", 0.5, 6.9315},
		{"gamma of shape 4 and mean 4, p95 = chi-square(8)/2 = 7.7537", "think_s", "{gamma: {mean: 4, shape: 4}}", 0.95, 7.7537},
		{"gamma of shape 0.5: chi-square(1)/2, p95 = 1.9207", "think_s", "{gamma: {mean: 0.5, shape: 0.5}}", 0.95, 1.9207},
	} {
		p := mustParse(t, one(test.key, test.text))
		d := map[string]*Distribution{"input_tokens": p.Classes[0].Input, "output_tokens": p.Classes[0].Output, "think_s": p.Classes[0].Think}[test.key]
		q := must.Get(d.quantile(nil))(t)
		if got := q(test.rank); math.Abs(got-test.want) > 1e-4*test.want {
			t.Errorf("%s: %s at %v: got %v, want %v", test.why, test.text, test.rank, got, test.want)
		}
	}
}

// The gamma quantile inverts the distribution function over the shapes and ranks that occur.
func TestGammaQuantile(t *testing.T) {
	worst := 0.0
	for _, shape := range []float64{0.05, 0.25, 0.5, 1, 2, 10, 200} {
		logGamma, _ := math.Lgamma(shape)
		for _, rank := range []float64{1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9} {
			got := lowerGamma(shape, gammaQuantile(shape, rank), logGamma)
			if gammaQuantile(shape, rank) < 1e-300 {
				continue
			}
			worst = max(worst, math.Abs(got-rank))
		}
	}
	if worst > 1e-9 {
		t.Errorf("off by %g in rank", worst)
	}
	t.Logf("worst: %.1g in rank", worst)
}

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"a: [", "line 1"},
		{"", "line 1: the file is empty"},
		{"# nothing\n", "line 1: the file is empty"},
		{one() + "---\n" + one(), "line 11: a second document starts here"},
		{one() + "---\na: [", "line 12: did not find"},
		{one() + "---\n", "line 11: a second document starts here"},
		{"name: x\nmode: open\n\tduration: 1m\n", "line 3: starts with a tab"},
		{"arrivals:\n  process: poisson\n\n  # of a day\n\trate_per_s: 1\nduration: 1h\n", "line 5: starts with a tab"},
		{"classes:\n\t# one\n\t- name: a\n", "line 3: starts with a tab"},
		{"\tname: x\n", "line 1: starts with a tab"},
		{"name: x\r\nmode: \x01open\n", "line 2: a control character, U+0001"},
		{"name: x\nmode: open\n# \u0080\n", "line 3: a control character, U+0080"},
		{"name: \xff\n", "line 1: not UTF-8"},
		{"name: x\nclasses: [a\nmode: open\n", "line 2: did not find expected ',' or ']'"},
		{"name: x\n mode: open\n", "line 2: mapping values are not allowed"},
		{"name: x\nmode: *open\n", "line 2: unknown anchor 'open' referenced"},
		{"schema: tidemark.profile/1\nname: x\n", "line 1: classes: is missing"},
		{strings.Replace(one(), "profile/1", "profile/2", 1), `line 1: schema: "tidemark.profile/2": must be tidemark.profile/1`},
		{one() + "    colour: red\n", `line 11: classes[0]: unknown key "colour"; known are`},
		{one("mode", "closed"), `line 4: mode: "closed": must be open, sessions`},
		{one("share", "0.9"), "line 7: classes: shares add up to 0.9, not to 1"},
		{one("share", "1.5"), "line 8: classes[0].share: 1.5: must be above 0 and at most 1"},
		{one("input_tokens", "-5"), "line 9: classes[0].input_tokens: -5: must be from 1 to 16777216"},
		{one("input_tokens", "many"), `classes[0].input_tokens: "many" is not a number`},
		{one("input_tokens", "{quantiles: {p50: 100, p95: 90}}"), "line 9: classes[0].input_tokens.quantiles: not ascending: p50 is 100, p95 is 90"},
		{one("input_tokens", "{quantiles: {p50: 100}}"), "needs at least two"},
		{one("input_tokens", "{quantiles: {q50: 100, p95: 1}}"), `"q50": must be p0 to p100`},
		{one("input_tokens", "{uniform: {from: 9, until: 3}}"), "until is below from"},
		{one("input_tokens", "{lognormal: {p50: 9}}"), "needs p50 and p95, or mu and sigma"},
		{one("input_tokens", "{lognormal: {p50: 9, p95: 4}}"), "p95 is below p50"},
		{one("input_tokens", "{constant: 9, uniform: {from: 1, until: 2}}"), "a second distribution next to"},
		{one("input_tokens", "{min: 9}"), "needs one of constant, exponential, gamma, histogram, lognormal, normal, quantiles, source, uniform"},
		{one("input_tokens", "{constant: 9, min: 20, max: 10}"), "max is below min"},
		{one("input_tokens", "{histogram: [{from: 5, until: 5, count: 1}]}"), "input_tokens.histogram[0]: until must be above from"},
		{one("input_tokens", "{histogram: [{from: 1, until: 5, count: 0}]}"), "the histogram has no counts"},
		{one("turns", "1000000"), "turns: 1000000: must be from 1 to 10000"},
		{one("arrivals", "{process: gamma, rate_per_s: 1, burstiness: 0}"), "burstiness: 0: must be from 0.01 to 10000"},
		{one("think_s", "{source: x}"), `unknown key "source"`},
		{one("arrivals", "{process: poisson, rate_per_s: 0}"), "line 5: arrivals.rate_per_s: 0: must be above 0"},
		{one("arrivals", "{process: poisson}"), "line 5: arrivals: rate_per_s is missing"},
		{one("arrivals", "{process: gamma, rate_per_s: 1}"), "gamma needs burstiness"},
		{one("arrivals", "{process: poisson, rate_per_s: 1, burstiness: 2}"), "burstiness is of process gamma"},
		{one("arrivals", "{process: trace}"), "process trace and source belong together"},
		{one("arrivals", "{process: now, rate_per_s: 1}"), `"now": must be constant, poisson, gamma, trace, at_once`},
		{one("arrivals", `{process: poisson, windows: [{from: "9:00", until: "8:00", rate_per_s: 1}]}`), "until must be after from"},
		{one("arrivals", `{process: poisson, windows: [{from: "9", until: "10:00", rate_per_s: 1}]}`), "must be a time of day"},
		{one("arrivals", `{process: poisson, windows: [{from: "9:00", until: "10:00", rate_per_s: 0}]}`), "a million; leave a window out"},
		{one("duration", "ten"), `line 3: duration: "ten": must be a duration above 0`},
		{one("prefix", "{shared: {tokens: 5}}"), "count is missing"},
		{one("prefix", "{shared: {count: 5}}"), "one of tokens and ratio"},
		{one("prefix", "{history: all}"), `"all": must be none, growing`},
		{one("joint", "{source: x}"), "joint says input and output"},
		{one("input_tokens", "", "output_tokens", "", "joint", "{cells: [{input: [5, 3], output: 1, count: 1}]}"), "the most is below the least"},
		{one("input_tokens", "", "output_tokens", "", "joint", "{cells: [{input: 5, output: 1, count: 0}]}"), "count: 0: must be above 0"},
		{one("input_tokens", ""), "input_tokens and output_tokens, or joint, are missing"},
		{one() + "  - name: all\n    share: 0.1\n    input_tokens: 1\n    output_tokens: 1\n", `class "all" is there twice`},
		{one("turns", "[]"), "must be a list of at least one"},
		{one("turns", "2", "share", "1\n    share: 1"), "is there twice"},
	} {
		_, err := Parse("p.yaml", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "profile p.yaml: ") {
			t.Errorf("got %v, want %q, for\n%s", err, test.want, test.text)
		}
	}
	must.Refuse(Load("nowhere.yaml"))(t, "nowhere.yaml")
	must.Refuse(mustParse(t, one("duration", "1h\nsessions: 5", "arrivals", "{process: trace, source: x}")).Requests(Options{}))(t, "source x: a profile needs its lengths", "tidemark ingest")
	must.Refuse(mustParse(t, strings.Replace(one(), "duration: 10m\n", "", 1)).Requests(Options{}))(t, "it has no end", "--duration")
	must.Refuse(mustParse(t, one("arrivals", "{process: at_once}")).Requests(Options{Duration: time.Minute}))(t, "start at once", "--limit")
}

// A prompt that grows past what any server holds ends the plan, not the memory.
func TestEndlessPromptsAreRefused(t *testing.T) {
	p := mustParse(t, one("turns", "100", "input_tokens", "1000000", "prefix", "{history: growing}"))
	requests := must.Get(p.Requests(Options{}))(t)
	for _, err := range requests {
		must.Fail(t, err, "profile test: class all: a prompt of 100000990 tokens")
	}
}

// Whatever is in a file, it is refused or drawn.
func FuzzParse(f *testing.F) {
	for _, name := range Builtins() {
		text, _ := BuiltinText(name)
		f.Add(text)
	}
	f.Add([]byte(one("turns", "{uniform: {from: 1, until: 9}}", "think_s", "{gamma: {mean: 3, shape: 0.2}}", "prefix", "{shared: {count: 3, ratio: 0.3}, history: growing}")))
	f.Add([]byte(one("arrivals", `{process: gamma, burstiness: 0.1, windows: [{from: "9:00", until: "9:01", rate_per_s: 0.001}]}`)))
	f.Add([]byte(one("input_tokens", "{histogram: [{from: 0, until: 1, count: 3}]}", "output_tokens", "{quantiles: {p0: 1, p100: 5}}")))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := Parse("fuzz", content)
		if err != nil {
			return
		}
		requests, err := p.Requests(Options{Limit: 20, Lengths: production})
		if err != nil {
			return
		}
		due := time.Duration(0)
		for r, err := range requests {
			if err == nil && (r.Due < due || r.InputTokens < 1 || r.OutputTokens < 1 || r.Think != nil && *r.Think < 0 || r.HistoryTokens > r.InputTokens) {
				t.Fatalf("drew %+v after %v", r, due)
			}
			if due = r.Due; r.InputTokens > 100_000 {
				break // drawing it is right, and slow
			}
		}
	})
}
