//go:build duckdb_arrow

package analysis_test

import (
	"math"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// every is n alike requests, a second of which brings perS.
func every(n int, perS float64, r plan.Request) []plan.Request {
	all := make([]plan.Request, n)
	for i := range all {
		all[i] = r
		all[i].Due = time.Duration(float64(i) / perS * float64(time.Second))
	}
	return all
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Two requests in four seconds: 1000 tokens, 600 of them cached, then 4000; answers of 100 and 300. While they decode, contexts are
// 1050 and 4150, and the longer answer counts three times: (100 * 1050 + 300 * 4150) / 400 = 3375.
func TestMixKeepsWhatMeansLose(t *testing.T) {
	requests := plan.Each([]plan.Request{
		{InputTokens: 1000, SharedTokens: 600, OutputTokens: 100, Class: "short"},
		{Due: 4 * time.Second, InputTokens: 4000, OutputTokens: 300, Class: "long"},
	})
	mix := must.Get(analysis.MixOf(requests, analysis.MixChoice{}))(t)
	if len(mix.Parts) != 2 || len(mix.Answers) != 2 {
		t.Fatalf("got %d parts and %d answers, want 2 and 2", len(mix.Parts), len(mix.Answers))
	}
	within(t, "rate: one gap of 4 s", mix.RequestsPerS, 0.25, 1e-9)
	within(t, "cached ratio 600 / 5000", mix.CachedRatio, 0.12, 1e-9)
	var context, output float64
	for _, part := range mix.Parts {
		context += part.Share * part.Output * part.Context
		output += part.Share * part.Output
	}
	within(t, "context while decoding", context/output, 3375, 1e-9)
	within(t, "uncached of the first", mix.Parts[0].Uncached, 400, 1e-9)
	within(t, "cached of the first", mix.Parts[0].Cached, 600, 1e-9)

	for _, test := range []struct {
		what   string
		choice analysis.MixChoice
		want   float64 // requests a second
	}{
		{"a class alone comes as often as among all", analysis.MixChoice{Class: "long"}, 0.125},
		{"so do long prompts", analysis.MixChoice{InputAbove: 1000}, 0.125},
		{"and short ones", analysis.MixChoice{InputUpTo: 1000}, 0.125},
	} {
		mix := must.Get(analysis.MixOf(requests, test.choice))(t)
		within(t, test.what, mix.RequestsPerS, test.want, 1e-9)
	}
	must.Refuse(analysis.MixOf(requests, analysis.MixChoice{Class: "none"}))(t)
	cold, _ := analysis.MixOf(requests, analysis.MixChoice{IsCold: true})
	within(t, "without a cache", cold.Parts[0].Uncached, 1000, 1e-9)
}

// Gaps of 1, 1, 1 and 5 s: mean 2, variance (3 * 1 + 9) / 4 = 3, so the cv is 0.866.
func TestMixMeasuresBurstiness(t *testing.T) {
	var requests []plan.Request
	for _, due := range []int{0, 1, 2, 3, 8} {
		requests = append(requests, plan.Request{Due: time.Duration(due) * time.Second, InputTokens: 10, OutputTokens: 10})
	}
	mix := must.Get(analysis.MixOf(plan.Each(requests), analysis.MixChoice{}))(t)
	within(t, "cv of the gaps", mix.ArrivalCV, math.Sqrt(3)/2, 1e-9)
}

// 300 requests over 100 s, then 300 over 25 s: of 20 parts of 6.25 s the quick ones bring 12/s where the mean is 4.8/s, 2.5 times.
func TestMixFindsTheBusiestTime(t *testing.T) {
	steady := every(600, 5, plan.Request{InputTokens: 10, OutputTokens: 10})
	mix, err := analysis.MixOf(plan.Each(steady), analysis.MixChoice{})
	if err != nil || mix.Busiest != (queueing.Busiest{}) {
		t.Errorf("a steady rate: got %+v (%v), want none", mix.Busiest, err)
	}
	slow, quick := every(300, 3, steady[0]), every(301, 12, steady[0])
	for i := range quick {
		quick[i].Due += 100 * time.Second
	}
	mix = must.Get(analysis.MixOf(plan.Each(append(slow, quick...)), analysis.MixChoice{}))(t)
	within(t, "ratio", mix.Busiest.RateRatio, 2.5, 0.02)
	within(t, "length", mix.Busiest.LengthS, 6.25, 0.01)
}
