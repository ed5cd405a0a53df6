package week

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
)

// weeksOf are the verdicts of a fleet that is judged Monday after Monday: the replicas advised when each week's fullest hour needs so many replicas'
// worth, known to chance.
func weeksOf(loads []float64, chance float64) (advised []int) {
	need := func(load float64) int { return int(math.Ceil(load - 1e-9)) }
	for i, l := range loads {
		if i == 0 {
			advised = append(advised, need(l))
			continue
		}
		last := loads[i-1]
		advised = append(advised, stands(advised[i-1], need(l*math.Exp(-chance)), need(math.Sqrt(l*last)), need(l*math.Exp(chance)), need(last*math.Exp(chance))))
	}
	return advised
}

func changes(advised []int) (n int) {
	for i := 1; i < len(advised); i++ {
		if advised[i] != advised[i-1] {
			n++
		}
	}
	return n
}

// A week that is beyond the line by less than chance changes nothing where the two weeks together are not; a second one does, and one that is beyond it by more
// does at once. It comes down only where two weeks are below by more than chance.
func TestTheVerdictStands(t *testing.T) {
	for _, test := range []struct {
		what  string
		loads []float64
		want  []int
	}{
		{"nothing changes", []float64{5.5, 5.6, 5.4, 5.5}, []int{6, 6, 6, 6}},
		{"once beyond", []float64{5.8, 6.1, 5.8, 5.8}, []int{6, 6, 6, 6}},
		{"twice beyond", []float64{5.8, 6.1, 6.1, 5.9, 5.9}, []int{6, 6, 7, 7, 7}},
		{"far beyond", []float64{5.9, 7.5}, []int{6, 7}},
		{"far below, once", []float64{5.9, 3.9, 5.9}, []int{6, 6, 6}},
		{"far below, and it stays", []float64{5.9, 3.5, 3.5}, []int{6, 6, 4}},
		{"below by no more than chance, and it stays", []float64{6.1, 5.9, 5.8, 5.9, 5.8}, []int{7, 7, 7, 7, 7}},
	} {
		got := weeksOf(test.loads, 0.1)
		for i, want := range test.want {
			if got[i] != want {
				t.Errorf("%s: %v advised, want %v", test.what, got, test.want)
				break
			}
		}
	}
}

// Twelve weeks of the same traffic, a thousand times: the fullest five minutes differ by 4 % from week to week, and the need lies anywhere between two whole numbers.
func TestTwelveUnchangedWeeks(t *testing.T) {
	const sd, trials = 0.04, 1000
	often, rawOften := 0, 0
	for seed := range uint64(trials) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		base := 5 + rnd.Float64()
		loads, raw := make([]float64, 12), make([]int, 12)
		for i := range loads {
			loads[i] = base * math.Exp(sd*rnd.NormFloat64())
			raw[i] = int(math.Ceil(loads[i]))
		}
		if changes(weeksOf(loads, 1.645*sd)) > 1 {
			often++
		}
		if changes(raw) > 1 {
			rawOften++
		}
	}
	t.Logf("more than one change in %d of %d, where what a week needs changes more than once in %d", often, trials, rawOften)
	if often > trials/20 {
		t.Errorf("the verdict changed more than once in %d of %d", often, trials)
	}
}

// Traffic that grows by 3 % a week is beyond six replicas from some week on: the verdict says so then or a week later, in nine cases of ten, and never more than
// once for each replica.
func TestTrueGrowthIsFound(t *testing.T) {
	const sd, trials = 0.02, 1000
	late, early := 0, 0
	for seed := range uint64(trials) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		base := 5 + 0.8*rnd.Float64()
		var loads []float64
		truth := -1
		for i := range 12 {
			grown := base * math.Pow(1.03, float64(i))
			if grown > 6 && truth < 0 {
				truth = i
			}
			loads = append(loads, grown*math.Exp(sd*rnd.NormFloat64()))
		}
		advised := weeksOf(loads, 1.645*sd)
		found := len(advised)
		for i, n := range advised {
			if n > 6 {
				found = i
				break
			}
		}
		switch {
		case truth < 0:
		case found > truth+1:
			late++
		case found < truth-1:
			early++
		}
	}
	t.Logf("later than a week after the truth in %d of %d, more than a week before it in %d", late, trials, early)
	if late > trials/10 {
		t.Errorf("found later than a week after in %d of %d", late, trials)
	}
}

// W44's page said 18.4/s and 73 % of W43, whose own page says 18.8/s and 85 %.
func TestLastWeeksFiguresAreThoseOfItsPage(t *testing.T) {
	of := func(deployment string, peak, headroom float64, needed int) *Report {
		r := &Report{Deployment: Deployment{GPU: deployment, GPUsPerReplica: 2}, Sums: Sums{PeakRatePerS: &peak, HeadroomRatio: &headroom, GPUHoursNeeded: new(14 * float64(needed))}}
		for day := range 7 { // one hour a day, each a little below the one before it
			rate := peak * (1 - 0.01*float64(day))
			r.Hours = append(r.Hours, Hour{Start: time.Date(2026, 10, 19+day, 8, 0, 0, 0, time.UTC), Day: day, HourOfDay: 8, PeakRatePerS: &rate, NeededReplicas: &needed})
		}
		r.Sums.BusiestHourStart = &r.Hours[0].Start
		return r
	}
	take := func(printed *Report) *Report {
		r := of("H100", 19.36, 0.76, 4)
		estimated := of("H100", 18.4, 0.73, 4)
		r.Before = []Sums{{Week: "2026-W42"}, estimated.Sums}
		r.Changes = Changes(Side{Hours: r.Hours}, Side{Hours: estimated.Hours}, 2)
		(&maker{report: r, printed: printed}).takePrinted()
		return r
	}
	r := take(of("H100", 18.81, 0.85, 3))
	last := r.Before[1]
	exactly(t, "last week's peak", last.PeakRatePerS, 18.81)
	exactly(t, "last week's headroom", last.HeadroomRatio, 0.85)
	exactly(t, "last week's GPU-hours", last.GPUHoursNeeded, 42)
	change := func(r *Report, figure string) *Change {
		return &r.Changes[slices.IndexFunc(r.Changes, func(c Change) bool { return c.Figure == figure })]
	}
	if c := change(r, "peak_rate_per_s"); *c.Before != 18.81 || math.Abs(*c.Ratio-0.0292) > 1e-3 {
		t.Errorf("the peak changed from %v by %v", *c.Before, *c.Ratio)
	}
	if c := change(r, "gpu_hours_needed"); *c.Before != 42 || math.Abs(*c.Ratio-1/3.) > 1e-9 { // 4 for 3 replicas in each of seven hours, two GPUs each
		t.Errorf("the GPU-hours changed from %v by %v", *c.Before, *c.Ratio)
	}
	for why, printed := range map[string]*Report{"is not kept": nil, "is of another GPU": of("H200", 18.81, 0.85, 3)} {
		r := take(printed)
		if *r.Before[1].PeakRatePerS != 18.4 || *change(r, "peak_rate_per_s").Before != 18.4 {
			t.Errorf("the page of last week %s: %v", why, *r.Before[1].PeakRatePerS)
		}
	}
}

// A page that rehearses its own week again says what a replica takes against last week's page, which has another number: 3.38 for 3.54 is 4.5 % less. Where last
// week's page rests on another SLO, both weeks are by this page's estimates.
func TestWhatAReplicaTakesIsAgainstLastWeeksPage(t *testing.T) {
	monday := time.Date(2026, 8, 24, 10, 0, 0, 0, time.UTC)
	hour := func(at time.Time, takes float64) Hour {
		return Hour{Start: at, Day: 0, HourOfDay: 10, PeakRatePerS: new(1.1), ReplicaRatePerS: &takes, PaidReplicas: 2}
	}
	last := monday.AddDate(0, 0, -7)
	for _, one := range []struct {
		slo   string
		ratio float64
	}{{"chat", 3.38/3.54 - 1}, {"other", 0}} {
		need := fleet.Need{RehearsedAs: 3}
		m := &maker{
			answer:  &fleet.Answer{Hours: []fleet.Need{need}, Before: &fleet.Answer{Hours: []fleet.Need{need}}},
			weeks:   []weekOf{{week: must.Get(service.ParseWeek("2026-W34", time.UTC))(t), hours: []Hour{hour(last, 3.38)}}, {week: must.Get(service.ParseWeek("2026-W35", time.UTC))(t)}},
			report:  &Report{Hours: []Hour{hour(monday, 3.38)}, Before: []Sums{{}}, Changes: []Change{{Figure: "peak_rate_per_s", Ratio: new(0.006)}}},
			printed: &Report{Hours: []Hour{hour(last, 3.54)}, Sums: Sums{BusiestHourStart: &last}, SLO: SLO{Objectives: []Objective{{Metric: one.slo}}}},
		}
		m.report.SLO.Objectives = []Objective{{Metric: "chat"}}
		all := m.since()
		if lengths := all[1]; math.Abs(*lengths.Ratio-one.ratio) > 1e-9 || lengths.IsTold != (one.ratio != 0) {
			t.Errorf("slo %s: what a replica takes changed by %v (told %v), want %v", one.slo, *lengths.Ratio, lengths.IsTold, one.ratio)
		}
	}
}
