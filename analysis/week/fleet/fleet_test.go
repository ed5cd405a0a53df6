package fleet

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func within(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, by)
	}
}

// alike are replicas so fast that one takes the same in every fleet.
var alike = &ratios{full: Capacity{Replicas: 1, Most: math.Inf(1)}, ln: map[int]float64{1: 0}}

// A replica handles 3 requests/s (2.5 to 4) unless a line says otherwise.
func TestReplicasOfAnHour(t *testing.T) {
	for _, test := range []struct {
		what                 string
		peak                 float64
		isEndless            bool
		isImpossible         bool
		needed, fewest, most int // -1: nil
	}{
		{what: "10 / 3 is 3.3, 10 / 4 is 2.5, 10 / 2.5 is 4", peak: 10, needed: 4, fewest: 3, most: 4},
		{what: "exactly two replicas' worth", peak: 6, needed: 2, fewest: 2, most: 3},
		{what: "a few requests need one", peak: 0.01, needed: 1, fewest: 1, most: 1},
		{what: "no request needs none", peak: 0, needed: 0, fewest: 0, most: 0},
		{what: "a capacity without an upper end", peak: 10, isEndless: true, needed: 4, fewest: 1, most: 4},
		{what: "no rate is small enough", peak: 10, isImpossible: true, needed: -1, fewest: -1, most: -1},
	} {
		n := Need{fleets: alike, peak: test.peak, centre: math.Log(3), below: math.Log(3 / 2.5), above: math.Log(4. / 3), isEndless: test.isEndless}
		if !test.isImpossible {
			n.set(false)
		}
		n.count()
		got := [3]int{-1, -1, -1}
		for i, p := range []*int{n.Needed, n.Fewest, n.Most} {
			if p != nil {
				got[i] = *p
			}
		}
		if want := [3]int{test.needed, test.fewest, test.most}; got != want {
			t.Errorf("%s: needed, fewest and most %v, want %v", test.what, got, want)
		}
	}
}

// Where even the low end of the band holds at no rate, no number of replicas is enough for certain.
func TestNoReplicasAreEnoughForTheSlowEnd(t *testing.T) {
	n := Need{fleets: alike, peak: 10}
	n.take(nil, Capacity{Replicas: 1, PerS: 5, Slow: impossible, Fast: 0.2}, nil, false)
	n.count()
	if n.Needed == nil || *n.Needed != 2 || n.Most != nil {
		t.Errorf("needed %v, most %v: want 2 and nil", n.Needed, n.Most)
	}
}

// A server whose steps are 1.3 times the model's was measured, alone and on prompts of half the length. Four of them are rehearsed as they are: what they take of an hour is what such
// servers take, though the bound is so tight that the hour loses three times as much by the factor as the window does.
func TestASearchCalibratesTheServer(t *testing.T) {
	s := aService(3, 4, true)
	s.server.Objectives = latency(0.95, 4, 2.1*s.modelSteps.a)
	s.busy, s.window = traffic{900, 150, 0.8, 0.6, 0}, &traffic{450, 150, 0.8, 0.6, 0}
	s.hours = []Hour{s.busy.hour(8, 4, 5)}
	s.true = engineOf(s.modelSteps.off(1.3, 1.3))
	search := s.search(t, 8, 6000)
	kept := memory{} // one server of one search is calibrated once
	got := must.Get(Needs(t.Context(), Asked{Server: s.server, Hours: s.hours, Search: search, Kept: kept}))(t)
	n := got.Hours[0]
	want := truth(t, s.busy, s.true, 4, s.server.Objectives, *n.PerS, 12_000)
	alone := must.Get(Needs(t.Context(), Asked{Server: s.server, Hours: s.hours}))(t)
	t.Logf("one of four takes %.2f (%.2f to %.2f), the model alone says %.2f, the truth is %.2f", *n.PerS, *n.LowPerS, *n.HighPerS, *alone.Hours[0].PerS, want)
	within(t, "one of four", *n.PerS, want, 0.15)
	if *n.LowPerS > want || *n.HighPerS < want {
		t.Errorf("%.2f to %.2f does not hold the truth, %.2f", *n.LowPerS, *n.HighPerS, want)
	}
	if n.Correction == nil || *n.Correction >= 1 {
		t.Errorf("longer prompts take %v of the window's rate", n.Correction)
	}

	// A search on a simulated server knows nothing of real GPUs: the band is in how much slower and faster its steps may be.
	asked := Asked{Server: s.server, Search: search, Kept: kept}
	real, err := asked.rehearser().calibrate(t.Context())
	if err != nil || real == nil {
		t.Fatal(real, err)
	}
	search.Origin = Simulated
	simulated, err := asked.rehearser().calibrate(t.Context())
	if err != nil || simulated == nil {
		t.Fatal(simulated, err)
	}
	within(t, "slower, simulated", simulated.Slower, math.Hypot(real.Slower, math.Log1p(s.server.Band)), 1e-9)
	within(t, "faster, simulated", simulated.Faster, math.Hypot(real.Faster, math.Log1p(s.server.Band)), 1e-9)
}

// The window loses 0.1 where prompts are off by the band and 0.2 where all steps are off as much as they may be; an hour that loses twice as much by either has only
// the window's seeds besides, twice; one that loses as much by prompts and twice by all is off by 0.1 more.
func TestWhatASearchLeavesOpen(t *testing.T) {
	by := calibration{window: Capacity{Slow: -0.2, Tilt: -0.1, Seeds: 0.03}}
	within(t, "in proportion", by.besides(Capacity{Slow: -0.4, Tilt: -0.2}), 0.06, 1e-9)
	within(t, "prompts weigh less", by.besides(Capacity{Slow: -0.4, Tilt: -0.1}), math.Hypot(0.06, 0.1), 1e-9)
}

// A search whose window is gone says the same of every hour; of one that ended at the largest multiple only a lower end is known.
func TestASearchWithoutItsWindow(t *testing.T) {
	search := Search{Origin: Measured, PerS: 4, LowPerS: 3.6}
	n := Need{fleets: alike}
	n.take(&search, Capacity{Replicas: 1, PerS: 1, Slow: -0.3}, nil, false)
	within(t, "uncorrected", *n.PerS, 4, 1e-9)
	if n.Correction != nil || n.HighPerS != nil {
		t.Errorf("correction %v and high end %v without a window", n.Correction, n.HighPerS)
	}
	n.take(&search, Capacity{Replicas: 1, PerS: 2, Slow: -0.3, Fast: 0.3}, &calibration{window: Capacity{Slow: -0.3}}, false)
	if within(t, "of the window's rate", *n.Correction, 0.5, 1e-9); n.HighPerS != nil {
		t.Errorf("high end %v of a search that found none", *n.HighPerS)
	}
}

// The busiest hour is the one that needs most replicas, though another has more requests; of equals the one with the fuller five minutes.
func TestHeadroomIsOfTheBusiestHour(t *testing.T) {
	three, four := 3, 4
	needs := []Need{{Needed: &three}, {Needed: &four}, {Needed: &four}, {}}
	hours := []Hour{{PeakPerS: 20, Paid: 6}, {PeakPerS: 9, Paid: 6}, {PeakPerS: 10, Paid: 6}, {IsMissing: true, PeakPerS: 99}}
	at := busiest(hours, needs)
	if at != 2 {
		t.Fatalf("busiest hour %d, want 2", at)
	}
	perS, low := 2.5, 2.0
	needs[2].PerS, needs[2].LowPerS, needs[2].fleets = &perS, &low, alike
	a := Answer{Hours: needs, Busiest: at}
	a.headroom(hours)
	within(t, "headroom: 6 * 2.5 / 10 - 1", *a.Headroom, 0.5, 1e-9)
	within(t, "low end: 6 * 2 / 10 - 1", *a.Low, 0.2, 1e-9)
	if a.High != nil {
		t.Error("a high end without one of the capacity")
	}
}

// Ten requests in the first five minutes and thirty in the second are 40 in 40 s: the first ten take a quarter.
func TestSteadyHasOneRate(t *testing.T) {
	s := Shape{Span: 10 * time.Minute}
	for i := range 10 {
		s.Requests = append(s.Requests, plan.Request{Due: time.Duration(i) * 30 * time.Second})
	}
	for i := range 30 {
		s.Requests = append(s.Requests, plan.Request{Due: fiveMinutes + time.Duration(i)*10*time.Second})
	}
	for i, r := range s.steady(1) {
		if want := time.Duration(i) * time.Second; (r.Due - want).Abs() > time.Microsecond {
			t.Errorf("request %d is due at %v, want %v", i, r.Due, want)
		}
	}
}

// The busiest five minutes are the third; they have 60 requests, and their busier neighbour 30.
func TestSampleWidensTheBusiestFiveMinutes(t *testing.T) {
	var hour []plan.Request
	for bin, n := range []int{10, 20, 60, 30, 5} {
		for i := range n {
			hour = append(hour, plan.Request{Due: time.Duration(bin)*fiveMinutes + time.Duration(i)*time.Second, InputTokens: bin + 1, OutputTokens: 1})
		}
	}
	for _, test := range []struct{ enough, want, bins int }{{50, 60, 1}, {80, 90, 2}, {100, 110, 3}, {1000, 125, 12}} {
		s := Sample(hour, test.enough)
		if len(s.Requests) != test.want || s.Span != time.Duration(test.bins)*fiveMinutes {
			t.Errorf("enough %d: %d requests of %v, want %d of %d times five minutes", test.enough, len(s.Requests), s.Span, test.want, test.bins)
		}
	}
	if s := Sample(hour, 20); len(s.Requests) < 10 || len(s.Requests) > 35 {
		t.Errorf("%d of 60 requests are kept where 20 are enough", len(s.Requests))
	}
}

// Bursts survive where requests are drawn anew: the rate varies by 0.5 over ten seconds, before and after.
func TestRedrawnIsAsUneven(t *testing.T) {
	f := chat
	f.burst = 0.5
	s := Shape{Requests: f.draw(4, time.Hour, 3), Span: time.Hour}
	requests, span := s.redrawn(20, time.Hour, 0)
	again := Shape{Requests: requests, Span: span}
	within(t, "rate", float64(len(requests))/span.Seconds(), 20, 0.02)
	before, _ := s.unevenness(10)
	after, _ := again.unevenness(10)
	within(t, "unevenness over ten seconds", math.Sqrt(after), math.Sqrt(before), 0.2)
	calm := Shape{Requests: chat.draw(4, time.Hour, 3), Span: time.Hour}
	if excess, _ := calm.unevenness(10); excess > 0.02 {
		t.Errorf("Poisson arrivals are uneven by %v", excess)
	}
}

func quick(objectives ...capacity.Objective) Server {
	if objectives == nil {
		objectives = latency(0.95, 3, 0.04)
	}
	return Server{Engine: engineOf(large), Band: 0.15, Objectives: objectives, requests: 1200}
}

// week of hours of three kinds, one missing, one empty and some with few requests.
func aWeek() []Hour {
	night := traffic{1500, 60, 0.6, 0.5, 0}
	var hours []Hour
	for i := range uint64(4) {
		hours = append(hours, chat.hour(3, 2, 100+i), night.hour(1, 2, 200+i), night.hour(0.01, 2, 300+i))
	}
	return append(hours, Hour{IsMissing: true, Paid: 2}, Hour{Paid: 2})
}

type memory map[string][]byte

func (m memory) Get(key string) (c Capacity, isThere bool) {
	text, isThere := m[key]
	if isThere {
		if err := json.Unmarshal(text, &c); err != nil {
			panic(err)
		}
	}
	return c, isThere
}

func (m memory) Put(key string, c Capacity) (err error) {
	m[key], err = json.Marshal(c)
	return err
}

// One, two and eight threads give the same bytes, and so does what was kept.
func TestAnswersAreTheSame(t *testing.T) {
	hours := aWeek()
	kept := memory{}
	var first *Answer
	var text string
	for _, threads := range []int{1, 2, 8} {
		a := Asked{Server: quick(), Hours: hours}
		if threads == 8 {
			a.Kept = kept
		}
		cores := runtime.GOMAXPROCS(threads)
		got, err := Needs(t.Context(), a)
		runtime.GOMAXPROCS(cores)
		must.Do(t, err)
		bytes := must.Get(json.Marshal(got))(t)
		if first == nil {
			first, text = got, string(bytes)
		} else if string(bytes) != text {
			t.Errorf("%d threads:\n%s\nwant\n%s", threads, bytes, text)
		}
	}
	again := must.Get(Needs(t.Context(), Asked{Server: quick(), Hours: hours, Kept: kept}))(t)
	if again.Fresh != 0 {
		t.Errorf("%d shapes were rehearsed again", again.Fresh)
	}
	again.Fresh = first.Fresh
	if bytes, err := json.Marshal(again); err != nil || string(bytes) != text {
		t.Errorf("kept:\n%s\nwant\n%s", bytes, text)
	}
	// Four hours of each of two kinds, and the hours with few requests together, are few rehearsals.
	if first.Rehearsals < 2 || first.Rehearsals > 4 {
		t.Errorf("%d rehearsals of two kinds of hours", first.Rehearsals)
	}
	if missing := first.Hours[12]; missing.Needed != nil || missing.PerS != nil {
		t.Errorf("a missing hour needs %+v", missing)
	}
	if empty := first.Hours[13]; empty.Needed == nil || *empty.Needed != 0 {
		t.Errorf("an hour without requests needs %+v", empty)
	}
	if sparse := first.Hours[2]; sparse.Needed == nil || *sparse.Needed != 1 {
		t.Errorf("an hour with few requests needs %+v", sparse)
	}
	if b := first.Basis; b.Kind != Predicted || !strings.HasPrefix(b.Sentence, "No replica was measured: by rehearsal one handles ") || len(b.Curve) == 0 || *b.Allowed > 0.0501 {
		t.Errorf("basis %+v", b)
	}
	if c := first.Basis.Curve; !slices.IsSortedFunc(c, func(a, b Share) int { return int(math.Copysign(1, a.Missed-b.Missed)) }) || c[3].Low > c[3].Missed || c[3].High < c[3].Missed || c[len(c)-1].PerS < 1.3**first.Basis.PerS {
		t.Errorf("curve %+v", c)
	}
	slow := quick()
	slow.Engine = engineOf(large.off(1.01, 1))
	if slow.key(&hours[0].Shape) == ptr(quick()).key(&hours[0].Shape) {
		t.Error("a server that is slower by 1 % has the same key")
	}
}

// Three weeks of one law of requests take the same of a replica, to the last digit, and nothing is rehearsed for the later ones; a third longer prompts are
// another traffic, which is rehearsed with its own requests. One hour of a kind that the first week had not leaves the whole what it was, and is rehearsed by itself.
func TestTrafficThatStaysIsRehearsedOnce(t *testing.T) {
	usual, longer, long := traffic{900, 150, 0.8, 0.6, 0}, traffic{1200, 150, 0.8, 0.6, 0}, traffic{2500, 150, 0.2, 0.5, 0}
	week := func(f traffic, seed uint64) (hours []Hour) {
		for i := range 6 {
			hours = append(hours, f.hour(4-0.5*float64(i), 2, 10*seed+uint64(i)))
		}
		return append(hours, f.hour(0.01, 2, seed)) // few requests
	}
	kept := memory{}
	ask := func(hours, before, anchor []Hour) *Answer {
		answer := must.Get(Needs(t.Context(), Asked{Server: quick(), Hours: hours, Before: before, Anchor: anchor, Kept: kept}))(t)
		return answer
	}
	w1, w2, w3 := week(usual, 1), week(usual, 2), week(usual, 3)
	first := ask(w1, nil, nil)
	founded := ask(w2, w1, nil)
	for i, answer := range []*Answer{ask(w2, w1, w1), ask(w3, w2, w1)} {
		if !answer.IsAnchored || answer.Fresh != 0 || *answer.Hours[0].PerS != *first.Hours[0].PerS || *answer.Before.Hours[0].PerS != *first.Hours[0].PerS {
			t.Errorf("week %d: anchored %v, %d fresh rehearsals, %v and %v/s, want %v", i+2, answer.IsAnchored, answer.Fresh, *answer.Hours[0].PerS, *answer.Before.Hours[0].PerS, *first.Hours[0].PerS)
		}
		if lengths := answer.ChanceOfChange(); lengths != 0 {
			t.Errorf("week %d: what a replica takes may differ by %v by chance", i+2, lengths)
		}
	}
	if founded.IsAnchored || *founded.Hours[0].PerS == *first.Hours[0].PerS {
		t.Errorf("the second week by its own requests: %v/s, as the first", *founded.Hours[0].PerS)
	}
	if other := ask(week(longer, 4), w3, w1); other.IsAnchored || *other.Hours[0].PerS >= *first.Hours[0].PerS {
		t.Errorf("longer prompts: anchored %v, %v/s", other.IsAnchored, *other.Hours[0].PerS)
	}
	if other := ask(append(w3[:5:5], long.hour(0.031, 2, 99)), w2, w1); !other.IsAnchored || *other.Hours[0].PerS != *first.Hours[0].PerS || *other.Hours[5].PerS >= 0.9**first.Hours[0].PerS || other.Rehearsals != 3 { // the whole, the hours of few requests, the long ones
		t.Errorf("an hour of long prompts: anchored %v, %v and %v/s, %d rehearsals", other.IsAnchored, *other.Hours[0].PerS, *other.Hours[5].PerS, other.Rehearsals)
	}
}

func ptr[T any](v T) *T { return &v }

// A server whose shortest step takes 14 ms never holds 1 ms a token, at any rate.
func TestNoRateIsSmallEnough(t *testing.T) {
	got := must.Get(Needs(t.Context(), Asked{Server: quick(latency(0.95, 2, 0.001)...), Hours: []Hour{chat.hour(3, 2, 1)}}))(t)
	if n := got.Hours[0]; n.Needed != nil || n.PerS != nil || n.Binding != "p95 tpot" {
		t.Errorf("%+v, want no number of replicas, by p95 tpot", n)
	}
	if got.Headroom != nil || !got.Basis.IsImpossible || !strings.Contains(got.Basis.Sentence, "no rate is small enough") {
		t.Errorf("headroom %v, %s", got.Headroom, got.Basis.Sentence)
	}
}

// Objectives that nothing can miss leave what the server keeps up with.
func TestALooseSLOEndsWhereTheServerNoLongerKeepsUp(t *testing.T) {
	s := quick(latency(0.95, 1e5, 100)...)
	c := must.Get(s.Rehearse(t.Context(), chat.hour(3, 1, 1).Shape))(t)
	if c.Binding != "" || c.PerS < 5 || c.PerS > 20 || !(c.LowPerS < c.PerS && c.PerS < c.HighPerS) {
		t.Errorf("%+v, want some 10 requests/s and no objective", c)
	}
}

// A failed request of the source has no answer; nothing can be rehearsed of it.
func TestRequestsWithoutAnAnswerAreLeftOut(t *testing.T) {
	s := quick()
	must.Refuse(s.Rehearse(t.Context(), Shape{Requests: []plan.Request{{InputTokens: 5}}}))(t)
	got, err := Needs(t.Context(), Asked{Server: s, Hours: []Hour{{Shape: Shape{Requests: []plan.Request{{InputTokens: 5}}}, PeakPerS: 1}}})
	if err != nil || got.Hours[0].Needed != nil {
		t.Errorf("%+v, %v: want an hour that is not known", got, err)
	}
}

// Two hours whose figures agree share a rehearsal. Their lengths may differ by as much as is allowed: then capacities are apart by no more than the
// interval of a shared rehearsal says. The same seed draws all of them, so that chance does not matter.
func TestHoursThatAgreeTakeTheSame(t *testing.T) {
	server := quick(latency(0.95, 3, 0.05)...)
	server.requests = 3000
	rate := func(f traffic) (float64, looks) {
		s := Shape{Requests: f.draw(30, fiveMinutes, 1), Span: fiveMinutes}
		r := must.Get(server.rehearsal(t.Context(), s, 1, server.requests))(t)
		got := must.Get(r.at(capacity.Shift{}, math.Log(0.5*r.mostPerS/r.windowS), false))(t)
		return got.Ln + math.Log(r.windowS), s.look()
	}
	base, looks := rate(chat)
	for _, test := range []struct {
		what   string
		change func(*traffic)
		agrees bool
	}{
		{"prompts 4 % longer", func(f *traffic) { f.input *= 1.04 }, true},
		{"answers 4 % longer", func(f *traffic) { f.output *= 1.04 }, true},
		{"prompts 15 % longer", func(f *traffic) { f.input *= 1.15 }, false},
		{"answers 15 % longer", func(f *traffic) { f.output *= 1.15 }, false},
	} {
		f := chat
		test.change(&f)
		ln, look := rate(f)
		agrees := looks.agrees(&look)
		t.Logf("%s: capacity %+.3f", test.what, ln-base)
		if agrees != test.agrees {
			t.Errorf("%s: agrees %v, want %v", test.what, agrees, test.agrees)
		}
		if agrees && math.Abs(ln-base) > 1.5*sharedApart {
			t.Errorf("%s: capacities are %.3f apart, though they share a rehearsal", test.what, ln-base)
		}
	}
}

// Five of the services of make headroom-coverage, the cheapest of its first twenty, with fewer requests: at most one interval may miss the truth.
func TestHeadroomHoldsTheTruth(t *testing.T) {
	missed, services := 0, []uint64{0, 9, 8, 15, 16}
	for _, i := range services[:proof.Many(2, 5)] { // the first is predicted, the second measured
		s := aService(i, 4, i%2 == 1)
		s.server.requests = 1500
		o := s.play(t, i, 3000)
		if !o.isAnswered {
			t.Errorf("service %d has no answer", i)
		}
		if !o.isRight() {
			missed++
			t.Logf("service %d: headroom plus one %+v", i, o)
		}
	}
	if missed > proof.Many(0, 1) {
		t.Errorf("%d intervals miss the truth", missed)
	}
}

// The shares that replicas at peak are asked for tighten the bounds: more of them are needed, until none is enough.
func TestNines(t *testing.T) {
	a := Asked{Server: quick(), Hours: []Hour{chat.hour(12, 4, 1)}}
	answer := must.Get(Needs(t.Context(), a))(t)
	got := must.Get(answer.Nines(t.Context(), a, 0.95, 0.99))(t)
	if len(got) != 2 || got[0].Replicas == nil || *got[0].Replicas != *answer.Hours[0].Needed || got[1].Replicas == nil || *got[1].Replicas < *got[0].Replicas {
		t.Errorf("%+v for an hour that needs %d", got, *answer.Hours[0].Needed)
	}
	if got := atShare([]capacity.Objective{{Metric: "tpot", Quantile: 0.5, AtMost: 1}, {Metric: "tpot", Quantile: 0.99, AtMost: 2}}, 0.999); len(got) != 1 || got[0].AtMost != 2 || got[0].Quantile != 0.999 {
		t.Errorf("bounds for 99.9 %%: %+v, want that of the p99", got)
	}
}

// Of requests that servers counted, and that were drawn at a high rate, no five minutes are whole: how unevenly they come is not known, and hours
// of one law agree all the same.
func TestHoursOfCountersAgree(t *testing.T) {
	drawn := func(seed uint64, change func(*traffic)) looks {
		f := chat
		change(&f)
		s := Drawn(f.draw(2000.0/300, fiveMinutes, seed), 40, seed)
		return s.look()
	}
	agreeing, longer := 0, 0
	one := drawn(1, func(*traffic) {})
	for seed := range uint64(20) {
		other, different := drawn(2+seed, func(*traffic) {}), drawn(2+seed, func(f *traffic) { f.output *= 1.3 })
		if one.agrees(&other) {
			agreeing++
		}
		if one.agrees(&different) {
			longer++
		}
	}
	if agreeing < 17 || longer > 0 {
		t.Errorf("%d of 20 hours of one law agree, and %d with answers 30 %% longer", agreeing, longer)
	}
}
