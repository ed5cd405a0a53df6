//go:build duckdb_arrow

package accuracy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestCrossing(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name           string
		levels, values []float64
		bound, want    float64
	}{
		{"halfway in both logarithms", []float64{1, 4}, []float64{1, 100}, 10, 2},
		{"the first of two crossings", []float64{1, 4, 8, 16}, []float64{1, 100, 1, 100}, 10, 2},
		{"exactly at a level", []float64{1, 2, 4}, []float64{1, 10, 100}, 10, 2},
		{"never", []float64{1, 4}, []float64{1, 9}, 10, nan},
		{"beyond it from the start", []float64{1, 4}, []float64{11, 100}, 10, nan},
	} {
		if got := Crossing(c.levels, c.values, c.bound); !(math.Abs(got-c.want) < 1e-12 || math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: Crossing(%v, %v, %v): got %v, want %v", c.name, c.levels, c.values, c.bound, got, c.want)
		}
	}
}

func TestSweepRequestsFillTheStage(t *testing.T) {
	var report inferencePerf
	report.Load.Count = 1000
	lengths := map[string]float64{}
	for _, q := range quantileNames {
		lengths[q.name] = 100 + 100*q.at
	}
	report.Successes.PromptLen = lengths
	requests := sweepRequests(report, rand.New(rand.NewPCG(1, 1)))
	if last := requests[len(requests)-1].Due; len(requests) != 1000 || (last-60*time.Second).Abs() > time.Microsecond {
		t.Errorf("%d requests, the last due at %v; want 1000 that fill 60 s", len(requests), last)
	}
	sum := 0
	for i, r := range requests {
		if r.InputTokens < 100 || r.InputTokens > 200 || r.OutputTokens != sweepAnswer || i > 0 && r.Due < requests[i-1].Due {
			t.Fatalf("request %d: %+v", i, r)
		}
		sum += r.InputTokens
	}
	if mean := float64(sum) / 1000; math.Abs(mean-150) > 4 { // 100 to 200, evenly: a standard error of 0.9
		t.Errorf("prompts of %v tokens on average, want 150", mean)
	}
	SharePrefixes(requests, rand.New(rand.NewPCG(1, 2)))
	prompts, systems := map[uint64]bool{}, map[uint64]bool{}
	for _, r := range requests {
		if len(r.Blocks) != (r.InputTokens+15)/16 {
			t.Fatalf("%d blocks of a prompt of %d tokens", len(r.Blocks), r.InputTokens)
		}
		systems[r.Blocks[0]] = true
		if len(r.Blocks) > 8 {
			prompts[r.Blocks[8]] = true
		}
	}
	if len(systems) != 10 || len(prompts) != 100 {
		t.Errorf("%d system prompts and %d prompts, want 10 and 100", len(systems), len(prompts))
	}
}
