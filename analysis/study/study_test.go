//go:build duckdb_arrow

package study

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/tune"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func rehearsed(rates ...float64) (all []Measure) {
	for _, rate := range rates {
		all = append(all, Measure{Origin: "rehearsed", Rate: &rate, Low: 0.97 * rate, High: new(1.03 * rate)})
	}
	return all
}

// over is a repeat that met the SLO at one rate and missed it at another.
func over(low, high float64) Measure {
	m := Measure{Origin: "measured", Low: low}
	if high > 0 {
		m.High = &high
	}
	return m
}

func rowOf(name string, repeats ...Measure) Row {
	return NewRow(Step{Name: name, IsControl: name == "noise"}, Configuration{Name: name, Replicas: 1}, 0, repeats)
}

// By hand: ln of 10, 11 and 12 has the mean ln 10.969 and a standard deviation of 0.0912; Student's t of 2 degrees is 2.920.
func TestTheRateIsAnIntervalOverRepeats(t *testing.T) {
	r := rowOf("x", rehearsed(10, 11, 12)...)
	half := 2.920 * 0.0912 / math.Sqrt(3)
	for _, c := range []struct{ got, want float64 }{{*r.Rate, 10.969}, {*r.RateLow, 10.969 * math.Exp(-half)}, {*r.RateHigh, 10.969 * math.Exp(half)}} {
		if math.Abs(c.got/c.want-1) > 1e-3 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if one := rowOf("x", rehearsed(10)...); *one.RateLow != 9.7 || *one.RateHigh != 10.3 {
		t.Errorf("one repeat has its own interval: got %v to %v", *one.RateLow, *one.RateHigh)
	}
	grid := rowOf("x", over(2, 2.5), over(1.5, 2), over(2, 0))
	if grid.RateHigh != nil || *grid.RateLow >= 2 {
		t.Errorf("a repeat without a limit leaves none, and low ends have an interval: %v to %v", *grid.RateLow, grid.RateHigh)
	}
}

func TestWhatRepeatsShow(t *testing.T) {
	base := rowOf(Baseline, rehearsed(10, 20, 30)...)
	for _, c := range []struct {
		what    string
		row     Row
		base    Row
		isShown bool
	}{
		{"draws differ by far more than the configurations, which are compared draw by draw", rowOf("x", rehearsed(11, 22.2, 32.8)...), base, true},
		{"the ratio of draws holds 1", rowOf("x", rehearsed(11, 19, 31)...), base, false},
		{"a control is on draws of its own: its interval overlaps", rowOf("noise", rehearsed(11, 22.2, 32.8)...), base, false},
		{"three repeats over rates, each a step apart", rowOf("x", over(2.5, 3), over(2.5, 3), over(2.5, 3)), rowOf(Baseline, over(1.5, 2), over(1.5, 2), over(1.5, 2)), true},
		{"one repeat a step apart: the rerun of one configuration was", rowOf("x", over(2, 2.5)), rowOf(Baseline, over(1.5, 2)), false},
		{"the rate that one missed is where the other begins", rowOf("x", over(2, 2.5), over(2, 2.5)), rowOf(Baseline, over(1.5, 2), over(1.5, 2)), true},
		{"the same step", rowOf("x", over(2, 2.5), over(2, 2.5)), rowOf(Baseline, over(2, 2.5), over(2, 2.5)), false},
	} {
		c.row.Beside(c.base)
		if c.row.IsShown == nil || *c.row.IsShown != c.isShown {
			t.Errorf("%s: shown is %v, want %v", c.what, c.row.IsShown, c.isShown)
		}
	}
}

func TestAStepEndsWithAVerdict(t *testing.T) {
	up := &Hypothesis{Metric: "rate", Direction: "up", AtLeast: 0.05, Against: Baseline}
	step := func(h *Hypothesis, names ...string) (s Step) {
		s.Name, s.Hypothesis, s.IfRefuted = "one", h, Stop
		for _, name := range names {
			s.Configurations = append(s.Configurations, Configuration{Name: name})
		}
		return s
	}
	rows := []Row{rowOf(Baseline, rehearsed(10, 20, 30)...), rowOf("more", rehearsed(11, 22.1, 33)...), rowOf("little", rehearsed(10.1, 20.2, 30.3)...),
		rowOf("open", rehearsed(9, 22, 34)...), rowOf("less", rehearsed(9, 18, 27.1)...), rowOf("noise", rehearsed(300, 310, 290)...), rowOf("nothing", Measure{Why: "does not fit", High: new(0.0)}),
		rowOf("never", over(0, 8), over(0, 8)), rowOf("open end", over(20, 0), over(20, 0))}
	for _, c := range []struct {
		what          string
		step          Step
		outcome, next string
		says          string
	}{
		{"more", step(up, "more"), Held, "", "the largest rate within the SLO of more +10 % (+10 % to +11 %) against baseline"},
		{"one of two is enough", step(up, "less", "more"), Held, "", "of more +10 %"},
		{"a little more is not enough", step(up, "little"), NotHeld, Stop, "+1 %"},
		{"it cannot be told", step(up, "open"), NotShown, "", NoDifference},
		{"one of two cannot be told", step(up, "less", "open"), NotShown, "", ""},
		{"down", step(&Hypothesis{Metric: "rate", Direction: "down", AtLeast: 0.05, Against: Baseline}, "less"), Held, "", "-10 %"},
		{"what does not fit shows nothing", step(up, "nothing"), NotShown, "", "is not known of both"},
		{"the smallest rate missed the SLO", step(&Hypothesis{Metric: "rate", Direction: "down", AtLeast: 0.05, Against: "open end"}, "never"), Held, "", "of never -60 % or less against open end"},
		{"no limit was found of both", step(&Hypothesis{Metric: "rate", Direction: "up", AtLeast: 0.05, Against: "open end"}, "open end"), NotShown, "", "+0 % (no interval: one repeat, or no limit found)"},
		{"against another", step(&Hypothesis{Metric: "rate", Direction: "up", AtLeast: 0.05, Against: "less"}, "more"), Held, "", "against less"},
		{"a control that differs", Step{Name: "noise", IsControl: true, IfRefuted: Stop}, NotHeld, Stop, "may be chance"},
	} {
		v := c.step.Judge(rows)
		if v.Outcome != c.outcome || v.Next != c.next || !strings.Contains(v.Words, c.says) {
			t.Errorf("%s: got %q, next %q, %s", c.what, v.Outcome, v.Next, v.Words)
		}
	}
	if said := Headline(rows[:3], analysis.SLO{}); !strings.HasPrefix(said, "10 % more requests/s within the SLO (+10 % to +11 %, 90 %) with more: ") {
		t.Error(said)
	}
	wide := rows[1]
	wide.GPUs, wide.PerGPU = 2, new(*wide.Rate/2)
	wide.Beside(rows[0])
	if math.Abs(*wide.Linear-0.55) > 1e-3 {
		t.Errorf("twice the GPUs for 10 %% more: %v of linear", *wide.Linear)
	}
	if said := Headline([]Row{rows[0], wide}, analysis.SLO{}); !strings.HasPrefix(said, "No configuration takes more requests/s per GPU") {
		t.Error(said)
	}
}

// p99 are over their bounds: TPOT crosses first although TTFT ends further beyond.
func TestWhatBindsIsWhatIsMissedFirst(t *testing.T) {
	slo := analysis.SLO{Objectives: []analysis.Objective{{Metric: "ttft", Percentile: 99, AtMost: 1}, {Metric: "tpot", Percentile: 99, AtMost: 0.06}}}
	m := OfLevels([]Level{
		{RatePerS: 2.5, Outcome: analysis.NotMet, Observed: map[string]float64{"p99 ttft": 3, "p99 tpot": 1.2}},
		{RatePerS: 1.5, Outcome: analysis.Met, Observed: map[string]float64{"p99 ttft": 0.5, "p99 tpot": 0.9}, OutputTokens: 100, PerJ: new(0.4)},
		{RatePerS: 2, Outcome: analysis.Met, Observed: map[string]float64{"p99 ttft": 0.6, "p99 tpot": 0.97}, OutputTokens: 100, TPOT: new(0.058), PerJ: new(0.5)},
		{RatePerS: 3, Outcome: analysis.Met, Observed: map[string]float64{"p99 tpot": 0.1}},
	}, slo, 2, 36, "measured")
	if m.Low != 2 || *m.High != 2.5 || m.Binding != "p99 tpot" || *m.TPOT != 0.058 || *m.PerJ != 0.5 {
		t.Errorf("got %+v", m)
	}
	if want := 36 / (2 * 100 * 0.98 * 3600 / 1e6); math.Abs(*m.USD-want) > 1e-9 {
		t.Errorf("cost: got %v, want %v", *m.USD, want)
	}
}

func TestWhatASearchLeavesOpenIsNoLimit(t *testing.T) {
	q := capacity.Question{Window: make([]plan.Request, 10), Length: time.Second}
	for _, c := range []struct {
		answer    capacity.Answer
		low, high float64 // 0: none
	}{
		{capacity.Answer{Outcome: capacity.Found, RatePerS: new(9.0), RateLowPerS: new(8.0), RateHighPerS: new(10.0)}, 8, 10},
		{capacity.Answer{Outcome: capacity.Undecided, RatePerS: new(9.0), RateLowPerS: new(5.0), RateHighPerS: new(20.0)}, 5, 20},
		{capacity.Answer{Outcome: capacity.Undecided, RateLowPerS: new(5.0)}, 5, 0},
		{capacity.Answer{Outcome: capacity.Invalid}, 0, 0},
		{capacity.Answer{Outcome: capacity.BelowMin}, 0, 0.5},
	} {
		m, err := OfRehearsal(t.Context(), q, c.answer, 0, 1)
		if high := m.High; err != nil || m.Low != c.low || (high == nil) != (c.high == 0) || high != nil && math.Abs(*high-c.high) > 1e-9 {
			t.Errorf("%s: %+v, %v", c.answer.Outcome, m, err)
		}
	}
}

func TestBuiltinStudiesCanBeRead(t *testing.T) {
	for _, name := range Examples() {
		f, err := Read(name)
		if err != nil || f.Name != name {
			t.Errorf("%s: %q, %v", name, f.Name, err)
		}
	}
	f, _ := Read("vllm-settings")
	sent := must.Get(Read("../../docs/study/sent.yaml"))(t)
	for _, f := range []File{f, sent} {
		configurations := 0
		for _, s := range f.Steps {
			if !s.IsControl {
				configurations += len(s.Configurations)
			}
		}
		if configurations != 7 {
			t.Errorf("PLAN has seven configurations, %s %d", f.Name, configurations)
		}
	}
	if a, b := f.Steps[1].Draw(0), f.Steps[2].Draw(0); a == b || b != f.Steps[0].Draw(0) {
		t.Errorf("a control has draws of its own, all others share theirs: %d, %d", a, b)
	}
}

func TestTheJournalGoesOnAfterAKillAtAnyByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.study.jsonl")
	f := File{Asked: tune.Asked{Name: "a", SHA256: "one"}}
	open := func(f File, seed uint64) (*Log, error) { return OpenLog(path, f, seed, false, time.Now) }
	l := must.Get(open(f, 1))(t)
	for i, m := range rehearsed(10, 11) {
		must.Do(t, l.Measured(Place{"x", i}, m))
	}
	l.Close()
	text := must.Get(os.ReadFile(path))(t)
	for n := range text {
		must.Do(t, os.WriteFile(path, text[:n], 0o600))
		l, err := open(f, 1)
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if want := max(0, strings.Count(string(text[:n]), "\n")-1); len(l.done) != want {
			t.Fatalf("after %d bytes: %d repeats, want %d", n, len(l.done), want)
		}
		l.Close()
	}
	os.WriteFile(path, text, 0o600)
	for _, c := range []struct {
		f    File
		seed uint64
	}{{File{Asked: tune.Asked{Name: "a", SHA256: "two"}}, 1}, {f, 2}} {
		if _, err := open(c.f, c.seed); !hint.IsMisuse(err) || !strings.Contains(hint.Of(err), "--restart") {
			t.Errorf("%v: %v", c, err)
		}
	}
	l = must.Get(open(f, 1))(t)
	if m, has := l.Has(Place{"x", 1}); !has || *m.Rate != 11 {
		t.Errorf("the second repeat: %v, %v", m, has)
	}
}

// The first configuration keeps its interval, the second loses a third, the third moves within what its repeats leave open.
func TestTwoStudiesAreComparedByInterval(t *testing.T) {
	of := func(outcome string, rows ...Row) Result {
		return Result{Schema: ResultSchema, SLO: analysis.SLO{Objectives: []analysis.Objective{{Metric: "ttft", Percentile: 99, AtMost: 1}}}, Traffic: "chat", Band: 0.08, Rows: rows,
			Verdicts: []Verdict{{Step: "more", Outcome: outcome}}}
	}
	sent := func(rates ...float64) (all []Measure) {
		for _, m := range rehearsed(rates...) {
			m.Origin, m.Binding = "simulated", "p99 ttft"
			all = append(all, m)
		}
		return all
	}
	before := of(Held, rowOf(Baseline, rehearsed(10, 10.1, 9.9)...), rowOf("less", rehearsed(15, 15.2, 14.9)...), rowOf("open", rehearsed(10, 14, 7)...), rowOf("gone", rehearsed(1)...))
	after := of(NotHeld, rowOf(Baseline, sent(10, 10.1, 9.9)...), rowOf("less", sent(10, 10.2, 9.9)...), rowOf("open", sent(11, 15, 8)...), rowOf("new", sent(1)...))
	c, why := Compare(before, after)
	if why != "" || len(c.Answers) != 3 {
		t.Fatalf("%q, %d answers", why, len(c.Answers))
	}
	for i, isChanged := range []bool{false, true, false} {
		if c.Answers[i].IsChanged != isChanged {
			t.Errorf("%s: changed is %v: %+v", c.Answers[i].Name, c.Answers[i].IsChanged, c.Answers[i].Change)
		}
	}
	if said := c.FirstLine(); !strings.HasPrefix(said, "1 of 3 configurations changed: less -33 % (") {
		t.Error(said)
	}
	for _, want := range []string{"more: held, then not held", "rehearsed, then simulated: the model's own error, 8.00 %, is not in the intervals.", "only before: gone", "only after: new"} {
		must.Say(t, strings.Join(c.Remarks(), "\n"), want)
	}
	before.Rows[0].GPU, after.Rows[0].GPU, before.Rows[0].Model, after.Rows[0].Model = "H100", "H200", "llama-3.1-8b", "llama-3.1-8b"
	if c, _ := Compare(before, after); !slices.Contains(c.Remarks(), "baseline: H100, then H200.") {
		t.Errorf("%q: another GPU", c.Remarks())
	}
	before.TrafficSum, after.TrafficSum = "one", "two"
	if _, why := Compare(before, after); why != "their traffic differs: chat, then chat; the file or its window is another" {
		t.Error(why)
	}
	after.TrafficSum = "" // of a version that did not keep it
	after.Traffic = "code"
	if _, why := Compare(before, after); why != "their traffic differs: chat, then code" {
		t.Error(why)
	}
}

// A candidate that was rejected before a start, one that failed, one that was not started: each has a row that says why, and no figure.
func TestEveryCandidateOfATuningIsKept(t *testing.T) {
	file := tune.File{Asked: tune.Asked{Name: "chat"}, Knobs: []tune.Knob{{Name: "mode", Flag: "--mode", Values: []string{"broken", "next", "small", "large"}}}}
	candidates := must.Get(file.Candidates())(t)
	rows := make([]tune.Row, len(candidates))
	for i, c := range candidates {
		rows[i].Candidate = c
	}
	rows[2].RatePerS, rows[2].Full, rows[3].Short, rows[4].Why = 21, &capacity.Answer{}, 3, "does not fit"
	r := OfTuning(file, analysis.SLO{}, rows, []tune.Finisher{{Row: rows[0], Low: 9, Rate: 10, High: 11}, {Row: rows[1], Rejected: "ran out of memory"}}, "measured", "", "test")
	var got []string
	for _, row := range r.Rows {
		got = append(got, row.Name+" "+row.Origin+": "+row.Why)
	}
	want := []string{"baseline measured: ", "mode broken measured: ran out of memory", "mode next rehearsed: not started: 21.0 requests/s by the rehearsal",
		"mode small rehearsed: not near the best: about 3.00 requests/s by a short rehearsal of the busiest minute", "mode large rehearsed: does not fit"}
	if !slices.Equal(got, want) || math.Abs(*r.Rows[0].Rate-10) > 1e-9 || r.Rows[2].RateLow != nil {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A repeat whose server died was a rate of 0 and pulled the interval down to it.
func TestARepeatWithoutAnAnswerIsInNoInterval(t *testing.T) {
	died := Measure{Origin: "simulated", Why: "the server died in run 1"}
	base := NewRow(Step{Name: Baseline}, Configuration{Name: Baseline}, 0, []Measure{died, searched(20), searched(21)})
	other := NewRow(Step{Name: "one"}, Configuration{Name: "one"}, 0, []Measure{searched(5), searched(40), searched(42)})
	if base.Rate == nil || *base.Rate < 20 || *base.Rate > 21 || *base.RateLow < 15 || base.Why != "no answer of repeat 1: the server died in run 1" {
		t.Errorf("%v from %v, why %s", base.Rate, base.RateLow, base.Why)
	}
	if change, isShown, isKnown := other.change("rate", base, 0.95); !isKnown || !isShown || change.Value < 0.99 || change.Value > 1.01 {
		t.Errorf("%+v %v %v: want +100 %%, by the two draws that both have", change, isShown, isKnown)
	}
	none := NewRow(Step{Name: Baseline}, Configuration{Name: Baseline}, 0, []Measure{died})
	if got := Headline([]Row{none}, analysis.SLO{}); none.RateLow != nil || none.Interval() != "no answer" || got != "The baseline has no answer, so nothing is beside it." {
		t.Errorf("%v %s: %s", none.RateLow, none.Interval(), got)
	}
	missed := NewRow(Step{Name: Baseline}, Configuration{Name: Baseline}, 0, []Measure{{Origin: "simulated", High: new(1.0)}})
	if got := Headline([]Row{missed}, analysis.SLO{}); got != "The baseline keeps the SLO at no rate that was measured." {
		t.Error(got)
	}
}

func searched(rate float64) Measure {
	return Measure{Origin: "simulated", Low: rate * 0.9, Rate: &rate, High: new(rate * 1.1)}
}

// The mean of logarithms is off by some 1e-16: three brackets from 2 to 2.5 ended a little above 2.5, and overlapped with those from 2.5.
func TestBracketsThatOnlyTouchDiffer(t *testing.T) {
	for _, edge := range []float64{1.1, 2.5, 4.8, 7.3, 13.7} {
		before, after := rowOf("a", over(edge/1.25, edge), over(edge/1.25, edge), over(edge/1.25, edge)), rowOf("b", over(edge, 1.25*edge), over(edge, 1.25*edge), over(edge, 1.25*edge))
		if change, isShown, _ := after.change("rate", before, 0.95); !isShown || change.Low != 0 {
			t.Errorf("at %v: %+v, shown: %v; want 0 at least, and shown", edge, change, isShown)
		}
		if change, isShown, _ := after.change("rate", after, 0.95); isShown {
			t.Errorf("at %v: %+v is no change", edge, change)
		}
	}
	same := rowOf("a", rehearsed(7.3, 4.8, 2.1)...)
	if change, isShown, _ := same.change("rate", same, 0.95); isShown || change != (Interval{}) {
		t.Errorf("%+v, shown: %v", change, isShown)
	}
}
