package profile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// production is a source as the matrix wants one: lengths that belong together, and gaps.
func production(string) (Lengths, error) {
	l := Lengths{}
	for i := range 2000 {
		l.Pairs = append(l.Pairs, Pair{Input: 200 + i, Output: 20 + i/10, Count: int64(1 + i%7)})
		l.GapsS = append(l.GapsS, []float64{0.1, 0.1, 1.5, 0.3}[i%4])
	}
	return l, nil
}

// long is far beyond what any limit of a test leaves.
const long = 1000 * time.Hour

// examplesAlone are all built-in profiles; one whose classes are played alone counts once a class.
func examplesAlone(t *testing.T) (all []*Profile) {
	t.Helper()
	for _, name := range Builtins() {
		p, _ := Builtin(name)
		if p.Arrivals.Process != "" {
			all = append(all, p)
			continue
		}
		for _, c := range p.Classes {
			only := must.Get(p.Only(c.Name))(t)
			only.Name += " " + c.Name
			only.Sessions = 0
			all = append(all, only)
		}
	}
	return all
}

// Shares, quantiles and reuse at 100,000 requests, of every example: within 2 %, reuse within a point.
func TestDrawnIsAsAsked(t *testing.T) {
	for _, p := range examplesAlone(t) {
		worst, worstOf, reuse := 0.0, "", 0.0
		figures := must.Get(p.Measure(Options{Seed: 7, Duration: long, Limit: 100_000, Lengths: production}))(t)
		for _, f := range figures {
			switch {
			case math.IsNaN(f.Asked):
			case strings.HasSuffix(f.Quantity, "reuse_ratio"):
				if off := math.Abs(f.Drawn - f.Asked); off > 0.01 {
					t.Errorf("%s: %s: reuse %.4f, asked %.4f", p.Name, f.Class, f.Drawn, f.Asked)
				} else {
					reuse = max(reuse, off)
				}
			default:
				if off := math.Abs(f.Off()); off > 0.02 {
					t.Errorf("%s: %s %s: drawn %g, asked %g", p.Name, f.Class, f.Quantity, f.Drawn, f.Asked)
				} else if off > worst {
					worst, worstOf = off, f.Class+" "+f.Quantity
				}
			}
		}
		t.Logf("%-16s worst of %d figures: %.2f %% (%s); reuse within %.2f points", p.Name, len(figures), 100*worst, worstOf, 100*reuse)
	}
}

// planned draws a profile into a plan and reads it back.
func planned(t *testing.T, p *Profile, o Options) (plan.Header, []plan.Request) {
	t.Helper()
	requests := must.Get(p.Requests(o))(t)
	path := filepath.Join(t.TempDir(), "plan")
	header := must.Get(plan.Write(path, plan.Header{Source: p.Name}, plan.Choices{Mode: p.Mode, Seed: o.Seed, IsBounded: true}, requests))(t)
	written := must.Get(plan.Open(path))(t)
	all := must.All(written.Requests())(t)
	return header, all
}

// The plan counts by itself what its prompts share: as much as the profile asks for.
func TestReuseOfThePlanIsAsAsked(t *testing.T) {
	for _, p := range examplesAlone(t) {
		o := Options{Seed: 3, Duration: long, Limit: 10_000, Lengths: production}
		header, _ := planned(t, p, o)
		m := must.Get(p.generator(o))(t)
		whole := m.expected().total()
		got, want := float64(header.SharedTokens)/float64(header.InputTokens), whole.reused/whole.input
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%s: the plan shares %.4f of its prompts, asked %.4f", p.Name, got, want)
		}
		t.Logf("%-16s shares %.4f, asked %.4f", p.Name, got, want)
	}
}

// A share of the prompts, asked for by itself; long prompts are the first to have the end of their starter.
func TestReuseByRatio(t *testing.T) {
	for _, ratio := range []float64{0.2, 0.5, 0.8} {
		for _, history := range []string{"none", "growing"} {
			p := mustParse(t, one("input_tokens", "{lognormal: {p50: 800, p95: 9000}}",
				"prefix", fmt.Sprintf("{shared: {count: 20, ratio: %v, popularity: zipf}, history: %s}", ratio, history)))
			header, _ := planned(t, p, Options{Seed: 3, Duration: long, Limit: 20_000})
			got := float64(header.SharedTokens) / float64(header.InputTokens)
			if t.Logf("asked %v, shared %.4f with history %s", ratio, got, history); math.Abs(got-ratio) > 0.01 {
				t.Errorf("%.4f of the prompts are shared, want %v within a point", got, ratio)
			}
		}
	}
}

func TestMultiturnMeans(t *testing.T) {
	p, _ := Builtin("gtc-multiturn")
	header, all := planned(t, p, Options{Seed: 1, Duration: long, Limit: 20_000})
	sums, counts := [5]float64{}, [5]float64{}
	starters := map[uint64]bool{}
	for _, r := range all {
		sums[r.Turn] += float64(r.InputTokens)
		counts[r.Turn]++
		starters[r.Blocks[0]] = true
	}
	for turn, want := range []float64{3500, 4100, 5000, 6100, 7000} {
		got := sums[turn] / counts[turn]
		t.Logf("turn %d: mean input %.0f, asked %.0f", turn+1, got, want)
		if math.Abs(got/want-1) > 0.03 {
			t.Errorf("turn %d: mean input %.0f, want %.0f within 3 %%", turn+1, got, want)
		}
	}
	if len(starters) != 10 || header.Sessions != 4000 || header.Mode != "sessions" {
		t.Errorf("%d starters, %d sessions, mode %s", len(starters), header.Sessions, header.Mode)
	}
}

func TestCodingSegments(t *testing.T) {
	p, _ := Builtin("spoc-coding")
	_, all := planned(t, p, Options{Seed: 1, Duration: long, Limit: 20_000})
	first, last, turns, tokens := map[string][]int{}, map[string][]int{}, map[string]int{"P0": 11, "P1": 15, "P2": 47}, map[string]int{}
	sum := 0
	for _, r := range all {
		if r.Turn == 0 {
			first[r.Class] = append(first[r.Class], r.InputTokens)
		}
		if r.Turn == turns[r.Class] {
			last[r.Class] = append(last[r.Class], r.InputTokens)
		}
		tokens[r.Class] += r.InputTokens + r.OutputTokens
		sum += r.InputTokens + r.OutputTokens
	}
	for class, want := range map[string][2]int{"P0": {5_000, 50_000}, "P1": {15_000, 120_000}, "P2": {75_000, 135_000}} {
		for i, got := range []int{middleOf(first[class]), middleOf(last[class])} {
			if math.Abs(float64(got)/float64(want[i])-1) > 0.05 {
				t.Errorf("%s: from and to %d: got %d", class, want[i], got)
			}
		}
		t.Logf("%s: %d to %d tokens; %.0f %% of all tokens", class, middleOf(first[class]), middleOf(last[class]), 100*float64(tokens[class])/float64(sum))
	}
	if middleOf(last["P2"]) <= 128_000 || 2*tokens["P2"] < sum {
		t.Errorf("P2 grows to %d tokens and carries %d of %d", middleOf(last["P2"]), tokens["P2"], sum)
	}
}

func middleOf(values []int) int {
	slices.Sort(values)
	return values[len(values)/2]
}

// To put bounds in order that are in order changes nothing.
func TestDueTimesAreBounds(t *testing.T) {
	p, _ := Builtin("gtc-multiturn")
	_, all := planned(t, p, Options{Seed: 1, Limit: 2000})
	path := filepath.Join(t.TempDir(), "plan")
	must.Get(plan.Write(path, plan.Header{}, plan.Choices{Mode: "sessions"}, plan.Each(all)))(t)
	plan := must.Get(plan.Open(path))(t)
	for r, err := range plan.Requests() {
		if want := all[r.Seq]; err != nil || r.Due != want.Due || r.Session != want.Session || r.HistoryTokens != want.HistoryTokens {
			t.Fatalf("request %d: %v at %v, want %v at %v (%v)", r.Seq, r.Session, r.Due, want.Session, want.Due, err)
		}
	}
}

// Every prompt begins with the one before, its answer's place between them, and nobody else has its own blocks.
func TestSessionsAreOneStream(t *testing.T) {
	for _, name := range []string{"gtc-multiturn", "spoc-coding"} {
		p, _ := Builtin(name)
		_, all := planned(t, p, Options{Seed: 5, Duration: 20 * time.Minute})
		prompts := must.Get(plan.NewPrompts(1000, 8192, 1))(t)
		last, owner := map[string]plan.Request{}, map[uint64]string{}
		for _, r := range all {
			before, isLater := last[r.Session]
			last[r.Session] = r
			for _, id := range r.Blocks {
				if other, had := owner[id]; had && other != r.Session {
					owner[id] = "shared"
				} else if !had {
					owner[id] = r.Session
				}
			}
			if !isLater {
				continue
			}
			if r.Turn != before.Turn+1 || r.Due != before.Due+*r.Think || r.HistoryTokens != before.InputTokens+before.OutputTokens || r.SharedTokens != before.InputTokens {
				t.Fatalf("%s turn %d after %d: due %v after %v and %v; history %d after %d and %d; shared %d", r.Session, r.Turn, before.Turn,
					r.Due, before.Due, *r.Think, r.HistoryTokens, before.InputTokens, before.OutputTokens, r.SharedTokens)
			}
			if r.Turn < 3 && !slices.Equal(prompts.TokenIDs(r)[:before.InputTokens], prompts.TokenIDs(before)) {
				t.Fatalf("%s: the prompt of turn %d does not begin with the one before", r.Session, r.Turn)
			}
		}
	}
}

// A second class changes none of a class's lengths and think times.
func TestClassesDoNotDisturbEachOther(t *testing.T) {
	p, _ := Builtin("spoc-coding")
	only := must.Get(p.Only("P1"))(t)
	draw := func(p *Profile) (sessions [][]turn) {
		m := must.Get(p.generator(Options{Seed: 9}))(t)
		for number := int64(0); len(sessions) < 50; number++ {
			if s := m.session(number, 0); s.class == "P1" {
				sessions = append(sessions, s.turns)
			}
		}
		return sessions
	}
	if beside, alone := draw(p), draw(only); fmt.Sprint(beside) != fmt.Sprint(alone) {
		t.Errorf("P1 beside others: %v; alone: %v", beside[0], alone[0])
	}
}

// The same seed is the same plan; a longer one begins with it.
func TestSeedsAreStable(t *testing.T) {
	for _, p := range examplesAlone(t) {
		draw := func(o Options) (all []plan.Request) {
			o.Lengths = production
			requests := must.Get(p.Requests(o))(t)
			all = must.All(requests)(t)
			return all
		}
		short, again, longer := draw(Options{Seed: 2, Duration: time.Minute, Limit: 500}), draw(Options{Seed: 2, Duration: time.Minute, Limit: 500}), draw(Options{Seed: 2, Duration: 5 * time.Minute, Limit: 500})
		if fmt.Sprint(brief(short)) != fmt.Sprint(brief(again)) {
			t.Errorf("%s: the same seed drew another plan", p.Name)
		}
		had := map[string]bool{}
		for _, line := range brief(longer) {
			had[line] = true
		}
		for _, line := range brief(short) {
			if !had[line] {
				t.Errorf("%s: %s is not in the longer plan", p.Name, line)
				break
			}
		}
		if other := draw(Options{Seed: 3, Duration: time.Minute, Limit: 500}); len(p.Classes) > 1 && slices.Equal(brief(other), brief(short)) {
			t.Errorf("%s: another seed drew the same plan", p.Name)
		}
	}
}

func brief(requests []plan.Request) (lines []string) {
	for _, r := range requests {
		lines = append(lines, fmt.Sprintf("%s/%s/%d %v %d %d %v", r.Class, r.Session, r.Turn, r.Due, r.InputTokens, r.OutputTokens, r.Blocks))
	}
	return lines
}

func TestBuiltins(t *testing.T) {
	want := []string{"gtc-multiturn", "long-requests", "matrix", "spoc-coding"}
	if got := Builtins(); !slices.Equal(got, want) {
		t.Errorf("Builtins(): %v, want %v", got, want)
	}
	for _, name := range want {
		content, _ := BuiltinText(name)
		path := filepath.Join(t.TempDir(), name+".yaml")
		os.WriteFile(path, content, 0o644)
		p, err := Load(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if p.Name != name || p.Description == "" || len(p.SHA256) != 64 {
			t.Errorf("%s: is named %q, described %q", name, p.Name, p.Description)
		}
	}
	if _, ok := Builtin("nothing"); ok {
		t.Error("there is a profile named nothing")
	}
	p, _ := Builtin("matrix")
	if got := p.Sources(); !slices.Equal(got, []string{"production"}) {
		t.Errorf("sources of the matrix: %v", got)
	}
	if a, _ := p.Only("A"); len(a.Sources()) != 0 || a.MaxConcurrency != 1 || a.Classes[0].Share != 1 {
		t.Errorf("row A alone: %+v", a)
	}
	must.Refuse(p.Requests(Options{}))(t, "played one at a time", "A, B, C, D, E, F")
	must.Refuse(p.Only("G"))(t, `no class "G"`, "A B C D E F")
}

// Requests per second of planning, from the profile to the plan on disk.
func BenchmarkPlan(b *testing.B) {
	for _, name := range []string{"long-requests", "gtc-multiturn", "spoc-coding"} {
		b.Run(name, func(b *testing.B) {
			p, _ := Builtin(name)
			const n = 50_000
			for b.Loop() {
				requests := must.Get(p.Requests(Options{Seed: 1, Duration: long, Limit: n}))(b)
				must.Get(plan.Write(filepath.Join(b.TempDir(), "plan"), plan.Header{}, plan.Choices{Mode: p.Mode, IsBounded: true}, requests))(b)
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
