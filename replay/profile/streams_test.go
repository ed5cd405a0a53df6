package profile

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func drawnOf(t *testing.T, streams []Stream, o StreamOptions) (requests []plan.Request) {
	t.Helper()
	o.Until = cmp.Or(o.Until, 1000*time.Hour)
	sequence := must.Get(Streams(streams, o))(t)
	requests = must.All(sequence)(t)
	return requests
}

func hour(n float64) time.Duration { return time.Duration(n * float64(time.Hour)) }

var short = []LengthsWindow{{Joint: []Cell{{[2]int{1, 100}, [2]int{1, 10}, 1}}}}

// Windows of 2/s, none, and 0.5/s: 7,200 requests, none, and 1,800, within 3 standard
// deviations of a Poisson count.
func TestStreamsKeepTheRateOfEachWindow(t *testing.T) {
	rates := []RateWindow{
		{From: 0, Until: hour(1), RatePerS: 2},
		{From: hour(1), Until: hour(2), RatePerS: 0},
		{From: hour(2), Until: hour(3), RatePerS: 0.5},
	}
	counts := [3]int{}
	requests := drawnOf(t, []Stream{{Rates: rates, Lengths: short}}, StreamOptions{Seed: 7})
	for i, req := range requests {
		counts[int(req.Due/time.Hour)]++
		if i > 0 && req.Due < requests[i-1].Due || req.Seq != int64(i) {
			t.Fatalf("request %d: %+v comes after %+v", i, req, requests[i-1])
		}
	}
	for i, want := range []float64{7200, 0, 1800} {
		if math.Abs(float64(counts[i])-want) > 3*math.Sqrt(want) {
			t.Errorf("window %d: got %d requests, want about %v", i, counts[i], want)
		}
	}
}

// Gaps are as uneven as they are said to be.
func TestStreamsKeepTheUnevennessOfGaps(t *testing.T) {
	for _, c := range []struct {
		why    string
		window RateWindow
		want   float64 // coefficient of variation
	}{
		{"nothing said is exponential", RateWindow{}, 1},
		{"a gamma of shape 0.25: 1/sqrt(0.25)", RateWindow{Family: "gamma", Shape: 0.25}, 2},
		{"a Weibull of shape 0.5: sqrt(gamma(5)/gamma(3)^2 - 1)", RateWindow{Family: "weibull", Shape: 0.5}, math.Sqrt(5)},
		{"a coefficient of variation alone", RateWindow{CV: 3}, 3},
		{"exponential, whatever shape stands beside", RateWindow{Family: "exponential", Shape: 9, CV: 9}, 1},
	} {
		c.window.Until, c.window.RatePerS = hour(50), 1
		requests := drawnOf(t, []Stream{{Rates: []RateWindow{c.window}, Lengths: short}}, StreamOptions{Seed: 3})
		sum, squares := 0.0, 0.0
		for i, req := range requests[1:] {
			gap := (req.Due - requests[i].Due).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		n := float64(len(requests) - 1)
		cv := math.Sqrt(squares/n-sum/n*sum/n) / (sum / n)
		if math.Abs(cv/c.want-1) > 0.06 || math.Abs(n/180_000-1) > 0.05 {
			t.Errorf("%s: got a coefficient of variation of %.3f over %.0f gaps, want %.3f over about 180000", c.why, cv, n, c.want)
		}
	}
}

// Lengths are those of the window that an arrival lies in; above from, up to until.
func TestStreamsTakeLengthsOfTheirTime(t *testing.T) {
	stream := Stream{Class: "chat", Rates: []RateWindow{{Until: hour(3), RatePerS: 3}}, Lengths: []LengthsWindow{
		{From: 0, Until: hour(1), Joint: []Cell{{[2]int{5, 5}, [2]int{7, 7}, 1}}},
		{From: hour(1), Until: hour(2), Input: []Bucket{{10, 20, 1}, {20, 50, 3}}, Output: []Bucket{{0, 2, 1}}},
	}}
	above20, n := 0, 0
	for _, req := range drawnOf(t, []Stream{stream}, StreamOptions{Seed: 1}) {
		in, out := req.InputTokens, req.OutputTokens
		switch {
		case req.Class != "chat":
			t.Fatalf("class: got %q", req.Class)
		case req.Due < hour(1) && (in != 5 || out != 7):
			t.Fatalf("first hour: got %d and %d, want 5 and 7", in, out)
		case req.Due >= hour(1) && req.Due < hour(2):
			n++
			if in > 20 {
				above20++
			}
			if in < 11 || in > 50 || out < 1 || out > 2 {
				t.Fatalf("second hour: got %d and %d, want 11 to 50 and 1 to 2", in, out)
			}
		}
	}
	if share := float64(above20) / float64(n); math.Abs(share-0.75) > 0.02 {
		t.Errorf("got a share of %.3f in the upper bucket, want 0.75", share)
	}
}

// What is drawn is the same each time, and of one stream the same whatever others
// there are; a part is drawn from its begin.
func TestStreamsAreDrawnTheSame(t *testing.T) {
	a := Stream{Client: "a", Rates: []RateWindow{{Until: hour(1), RatePerS: 1}}, Lengths: short}
	b := Stream{Client: "b", Class: "b", Rates: []RateWindow{{Until: hour(1), RatePerS: 1}}, Lengths: short}
	alone := drawnOf(t, []Stream{a}, StreamOptions{Seed: 5})
	both := drawnOf(t, []Stream{a, b}, StreamOptions{Seed: 5})
	both = slices.DeleteFunc(both, func(req plan.Request) bool { return req.Class == "b" })
	same := func(x, y plan.Request) bool {
		return x.Due == y.Due && x.InputTokens == y.InputTokens && x.OutputTokens == y.OutputTokens
	}
	if !slices.EqualFunc(alone, both, same) {
		t.Error("a stream draws other requests when another plays beside it")
	}
	if other := drawnOf(t, []Stream{a}, StreamOptions{Seed: 6}); slices.EqualFunc(alone, other, same) {
		t.Error("another seed draws the same")
	}
	for _, req := range drawnOf(t, []Stream{a}, StreamOptions{Seed: 5, From: hour(0.5), Until: hour(0.75)}) {
		if req.Due < 0 || req.Due >= hour(0.25) {
			t.Fatalf("a part of a quarter of an hour: got a request due at %s", req.Due)
		}
	}
}

func TestStreamsRefuse(t *testing.T) {
	for _, c := range map[string]struct {
		stream Stream
		want   string
	}{
		"rates alone":          {Stream{Rates: []RateWindow{{Until: 1, RatePerS: 1}}}, "no lengths"},
		"prompts alone":        {Stream{Lengths: []LengthsWindow{{Input: []Bucket{{0, 1, 1}}}}}, "answers are missing"},
		"windows that overlap": {Stream{Lengths: short, Rates: []RateWindow{{Until: 5, RatePerS: 1}, {From: 4, Until: 6, RatePerS: 1}}}, "overlap"},
	} {
		must.Refuse(Streams([]Stream{c.stream}, StreamOptions{}))(t, c.want)
	}
}
