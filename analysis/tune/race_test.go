package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis/capacity"
)

// racing are candidates of one knob that the rehearsal expects to take rates, at prices an hour; the first is the baseline.
func racing(rates, usd []float64) *Race {
	knob := []Knob{{Name: "mode", Flag: "--mode"}}
	r := &Race{File: File{Objectives: []string{MostRate, LeastCost}, Budget: Budget{Load: 20 * time.Minute, Starts: 20}}, Least: time.Minute, TokensPerRequest: 10}
	for i, rate := range rates {
		e := Row{Candidate: Candidate{IsBaseline: i == 0, Values: []string{fmt.Sprint(i)}, knobs: knob}, RatePerS: rate, USDPerHour: usd[i], Class: i}
		e.Full = found(rate, 0.9*rate, 1.1*rate, time.Minute)
		r.Field = append(r.Field, e)
	}
	return r
}

func found(rate, low, high float64, load time.Duration) *capacity.Answer {
	return &capacity.Answer{Outcome: capacity.Undecided, RatePerS: &rate, RateLowPerS: &low, RateHighPerS: &high, LoadS: load.Seconds()}
}

// runs races on servers whose interval is 30 % after a minute of load, and narrows as its root. A rate of 0: the start fails.
func (r *Race) runs(t *testing.T, truth []float64) (started []string, ended string) {
	t.Helper()
	for range 100 {
		turn, ended := r.Next()
		if ended != "" {
			return started, ended
		}
		started = append(started, turn.Values[0])
		rate := truth[slices.IndexFunc(r.Field, func(e Row) bool { return e.Key() == turn.Key() })]
		one := Try{Candidate: turn.Key(), Outcome: Served}
		if rate > 0 {
			half := 0.3 / math.Sqrt(turn.Load.Minutes())
			one.Answer = found(rate, rate/(1+half), rate*(1+half), turn.Load)
		} else {
			one.Outcome, one.Why = NotReady, fmt.Sprintf("ran out of memory: %d GiB", len(r.Tries))
		}
		r.Tries = append(r.Tries, one)
	}
	t.Fatal("the race does not end")
	return nil, ""
}

func TestTheRaceStartsTheBaselineAndDropsWhatIsBeaten(t *testing.T) {
	r := racing([]float64{10, 20, 19, 18}, []float64{4, 4, 4, 4})
	started, ended := r.runs(t, []float64{9, 18, 0, 24})
	if got := strings.Join(started[:4], " "); got != "0 1 2 3" || len(started) < 6 || slices.Contains(started[4:], "0") || slices.Contains(started[4:], "2") {
		t.Errorf("started %v: want each once, and then the two that are close", started)
	}
	if ended != "what is best is decided" {
		t.Error(ended)
	}
	of := r.Finish()
	if !of[3].IsKnee || of[3].Rejected != "" || r.Ending() != Chosen {
		t.Errorf("the best is %+v", of[3])
	}
	if want := "takes at most 11.7/s, and mode 3 takes 20.9 at least"; !strings.HasPrefix(of[0].Rejected, want) {
		t.Errorf("the baseline: %s, want %s", of[0].Rejected, want)
	}
	if of[2].Rejected != "ran out of memory: 2 GiB" {
		t.Errorf("%+v", of[2].Rejected)
	}
	if of[3].OffRatio == nil || math.Abs(*of[3].OffRatio-24./18+1) > 1e-9 || of[3].ExpectedPerS != 18 {
		t.Errorf("expected 18 and measured 24 is off by %v", *of[3].OffRatio)
	}
	// 4 $/h over 24 requests/s of 10 tokens: 864,000 tokens an hour.
	if math.Abs(*of[3].USDPerMillion-4/0.864) > 1e-9 {
		t.Errorf("%v $ for a million", *of[3].USDPerMillion)
	}
}

func TestACheaperCandidateStaysOnTheFront(t *testing.T) {
	r := racing([]float64{10, 40}, []float64{4, 40})
	if started, ended := r.runs(t, []float64{10, 40}); len(started) != 2 || ended != "what is best is decided" {
		t.Errorf("started %v, %s", started, ended)
	}
	for _, f := range r.Finish() {
		if !f.IsOnFront || f.Rejected != "" {
			t.Errorf("%s: %+v", f.Label(), f)
		}
	}
	r.Objectives = []string{MostRate}
	if f := r.Finish()[0]; f.IsOnFront || f.Rejected == "" {
		t.Errorf("by the rate alone: %+v", f)
	}
}

func TestABudgetEndsTheRace(t *testing.T) {
	for _, c := range []struct {
		load   time.Duration
		starts int
		ended  string
		most   int
	}{
		{20 * time.Minute, 3, "the budget of 3 starts is used up", 3},
		{3 * time.Minute, 20, "the budget's load is used up", 3},
		{9 * time.Minute, 20, "the budget's load is used up", 9},
	} {
		r := racing([]float64{10, 10, 10, 10}, []float64{4, 4, 4, 4})
		r.Budget = Budget{c.load, c.starts}
		started, ended := r.runs(t, []float64{10, 10.1, 10.2, 10.3})
		if ended != c.ended || len(started) > c.most || r.left() < 0 {
			t.Errorf("%v in %d starts: %v, %s, %v left", c.load, c.starts, started, ended, r.left())
		}
	}
}

// A search that has its answer is not narrowed by more load: the race must not go on for ever.
func TestARaceOfEqualsEnds(t *testing.T) {
	r := racing([]float64{10, 10}, []float64{4, 4})
	for i, rate := range []float64{10, 10.2} {
		a := found(rate, rate-0.4, rate+0.4, time.Minute)
		a.Outcome = capacity.Found
		r.Tries = append(r.Tries, Try{Candidate: r.Field[i].Key(), Outcome: Served, Answer: a})
	}
	if _, ended := r.Next(); ended != "longer searches would not tell the best apart" {
		t.Error(ended)
	}
}

func TestThreeStartsThatFailForOneReasonEndTheRace(t *testing.T) {
	r := racing([]float64{10, 11, 12, 13}, []float64{4, 4, 4, 4})
	started, ended := r.runs(t, []float64{0, 10, 0, 0})
	if len(started) != 3 || !strings.HasPrefix(ended, "3 starts in a row failed for one reason: ran out of memory") || r.Ending() != NoneServed {
		t.Errorf("started %v, %s", started, ended)
	}
	r.Tries[1].Why = "exit status 1: no such model"
	if turn, ended := r.Next(); ended != "" || turn.Values[0] != "1" {
		t.Errorf("for two reasons: %s", ended)
	}
	none := Try{Candidate: r.Field[1].Key(), Outcome: Served, Answer: &capacity.Answer{Outcome: capacity.NotPossible, Why: "p90 tpot is missed"}}
	if r.Tries = append(r.Tries, none); r.Ending() != NoneKeeps || r.Finish()[3].Rejected != "does not keep the SLO: p90 tpot is missed" {
		t.Errorf("%v, %s", r.Ending(), r.Finish()[3].Rejected)
	}
}

// A search that had no room for a run after a kill made its candidate one that keeps no SLO.
func TestAnAnswerWithoutARateIsNoVerdict(t *testing.T) {
	r := racing([]float64{10, 11}, []float64{4, 4})
	for i, a := range []capacity.Answer{{Outcome: capacity.Undecided, Why: "the budget is too small for a run"}, {Outcome: capacity.Invalid, Why: "the server died in run 1"}} {
		try := Try{Candidate: r.Field[i].Key()}
		try.Answered(a, "measured")
		r.Tries = append(r.Tries, try)
		if got := r.Finish()[i].Rejected; try.Outcome != Unusable || got != a.Why {
			t.Errorf("%s: %s, rejected: %s", a.Outcome, try.Outcome, got)
		}
	}
	if r.Ending() != NoneServed {
		t.Error("a search without a verdict is not one that says no")
	}
}

// A first run that is beyond may leave open whether any load is within.
func TestACandidateOfWhichNothingIsKnownIsSearchedOn(t *testing.T) {
	r := racing([]float64{10}, []float64{4})
	high := 3.0
	r.Tries = []Try{{Candidate: r.Field[0].Key(), Outcome: Served, Answer: &capacity.Answer{Outcome: capacity.Undecided, RateHighPerS: &high, LoadS: 60, Why: "the budget is used up"}}}
	if turn, ended := r.Next(); turn.Load != 2*time.Minute || ended != "" {
		t.Errorf("%+v %s: want a longer search", turn, ended)
	}
	if got := r.Finish()[0].Rejected; got != "no load is shown to be within the SLO: the budget is used up" || r.Ending() != NoneKeeps {
		t.Error(got)
	}
}

func TestWhoEntersTheRace(t *testing.T) {
	rows := racing([]float64{10, 11, 20, 20, 12, 21}, []float64{4, 4, 4, 4, 4, 4}).Field
	rows[4].Why = "does not fit"
	rows[5].IsKnee, rows[5].IsOnFront = true, true
	rows[1].Full, rows[1].RatePerS, rows[1].Short = nil, 0, 5.5
	rows[0].Short = 5
	f := File{Objectives: []string{MostRate}}
	var got []string
	for _, e := range f.Entrants(rows) {
		got = append(got, fmt.Sprint(e.Values[0], " at ", e.RatePerS))
	}
	if want := "0 at 10, 5 at 21, 2 at 20, 3 at 20, 1 at 11"; strings.Join(got, ", ") != want {
		t.Errorf("%v may be started, want %s: the baseline, the knee, the largest rates, and not what does not fit", got, want)
	}
}

// A client that was late for a run is no fault of the candidate, which was rejected with most of the load left.
func TestACandidateThatTheClientSpoiltIsSearchedAgain(t *testing.T) {
	r := racing([]float64{10, 11}, []float64{4, 4})
	late := capacity.Answer{Outcome: capacity.Invalid, Why: "no run counts: the client was late", LoadS: 60, Table: []capacity.Row{{Verdict: "late"}}}
	try := Try{Candidate: r.Field[0].Key()}
	try.Answered(late, "measured")
	r.Tries = []Try{try}
	turn, ended := r.Next()
	if ended != "" || turn.Key() != try.Candidate || turn.Load != time.Minute || r.left() != 19*time.Minute {
		t.Fatalf("%s for %v, %v left, %s", turn.Key(), turn.Load, r.left(), ended)
	}
	r.Tries = append(r.Tries, Try{Candidate: try.Candidate, Outcome: Served, Answer: found(10, 9, 11, time.Minute)})
	if turn, _ := r.Next(); turn.Key() == try.Candidate || r.left() != 18*time.Minute || r.Finish()[0].Rejected != "" {
		t.Errorf("then %s, %v left, rejected: %s", turn.Key(), r.left(), r.Finish()[0].Rejected)
	}
	r.Tries, r.Budget.Load = r.Tries[:1], 90*time.Second
	if _, ended := r.Next(); ended != "the budget's load is used up" || r.Finish()[0].Rejected != late.Why {
		t.Errorf("%s, rejected: %s", ended, r.Finish()[0].Rejected)
	}
}
