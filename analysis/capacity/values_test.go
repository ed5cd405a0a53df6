package capacity

import (
	"math"
	"testing"
	"time"

	"tidemark/analysis/metric"
	"tidemark/replay/plan"
)

// Four requests due at 0 s and a bound of 1 s, looked at after 3 s: 0.5 s, 1.5 s, still waiting, and failed. A fifth was sent after 2.5 s and
// has waited for less than its bound, so that nothing is certain of it.
func TestWhatIsCertainAtACut(t *testing.T) {
	s := time.Second
	requests := make([]plan.Request, 5)
	for i := range requests {
		requests[i].OutputTokens = 11
	}
	replies := []Reply{
		{IsSent: true, First: s / 2, Last: 3 * s / 2, Tokens: 11},
		{IsSent: true, First: 3 * s / 2, Last: 4 * s, Tokens: 11}, // ends after the cut
		{IsSent: true},
		{IsSent: true, IsFailed: true},
		{IsSent: true, Due: 5 * s / 2, Sent: 5 * s / 2},
	}
	ttft := Objective{Metric: metric.TTFT, Quantile: 0.5, AtMost: 1}
	if got := ttft.tally(ttft.values(requests, replies, 3*s)); got.n != 3 || got.misses != 2 || got.sum != 0.5+1.5+3 {
		t.Errorf("TTFT: %+v, want 3 values of 5 s in all and 2 misses", got)
	}
	// The first took 0.1 s for each of ten gaps. The second has had 1.5 s since its first token: at least 0.15 s for each.
	tpot := Objective{Metric: metric.TPOT, Quantile: 0.5, AtMost: 0.12}
	if got := tpot.tally(tpot.values(requests, replies, 3*s)); got.n != 2 || got.misses != 1 || math.Abs(got.sum-0.25) > 1e-12 {
		t.Errorf("TPOT: %+v, want 0.1 and 0.15 s", got)
	}
	failed := Objective{Metric: metric.FailureRatio, AtMost: 0.1}
	if got := failed.tally(failed.values(requests, replies, 3*s)); got.n != 5 || got.sum != 1 {
		t.Errorf("failures: %+v, want 1 of 5", got)
	}
}

// With 10 values 1 to 10, q90, q95 and q99 lie at 9.1, 9.55 and 9.91.
func TestTailByHand(t *testing.T) {
	var values []float64
	for i := range 10 {
		values = append(values, float64(i+1))
	}
	want := (math.Log(9.1) + math.Log(9.55) + math.Log(9.91)) / 3
	if got := (Objective{Metric: metric.TTFT, Quantile: 0.99, AtMost: 9.5}).tally(values); math.Abs(got.tail-want) > 1e-12 || got.misses != 1 {
		t.Errorf("%+v, want a tail of %v and 1 miss", got, want)
	}
}

// Speeds of 0.1 and 0.3 at one multiple: mean 0.2, s^2 = (3*0.0016 + 0.01 + 0.01) / (3 + 2 - 1) = 0.0062, se^2 = 0.0062/2 + 0.0001 = 0.0032.
func TestPoolingByHand(t *testing.T) {
	of := ofObjective{speeds: []float64{0.1, 0.3}}
	of.pool([]*Run{{Scale: 1}, {Scale: 1}}, 0)
	if math.Abs(of.k-0.2) > 1e-12 || math.Abs(of.se-math.Sqrt(0.0032)) > 1e-12 || of.freedom != 4 {
		t.Errorf("%+v", of)
	}
	// A third run, far away, hardly counts.
	of = ofObjective{speeds: []float64{0.1, 0.3, 0.9}}
	of.pool([]*Run{{Scale: 1}, {Scale: 1}, {Scale: 4}}, 0)
	if math.Abs(of.k-0.2) > 0.001 {
		t.Errorf("with a run far away: %+v", of)
	}
}

// One session from 0 to 60 s with a pause, and one request alone for 30 s: in 60 s there are 1.5 users.
func TestUsersByHand(t *testing.T) {
	s := time.Second
	requests := []plan.Request{{Session: "a"}, {Session: "a"}, {}}
	replies := []Reply{{IsSent: true, Last: 5 * s}, {IsSent: true, Due: 50 * s, Sent: 50 * s, Last: 60 * s}, {IsSent: true, Due: 10 * s, Sent: 10 * s, Last: 40 * s}}
	if got := users(requests, replies, time.Minute); got != 1.5 {
		t.Errorf("got %v users", got)
	}
}

// A run of 100 requests is hopeless when more than 15 have waited for longer than a second.
func TestHopelessByHand(t *testing.T) {
	q := Question{Objectives: []Objective{{Metric: metric.TTFTFromDue, Quantile: 0.99, AtMost: 1}}}
	requests, replies := make([]plan.Request, 100), make([]Reply, 100)
	for i := range 15 {
		replies[i].IsSent = true
	}
	if q.isHopeless(20*time.Second, requests, replies) {
		t.Error("15 of 100 are not yet hopeless")
	}
	replies[15].IsSent = true
	if !q.isHopeless(20*time.Second, requests, replies) {
		t.Error("16 of 100 are hopeless")
	}
}
