//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/analysis/queueing"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

var eightB = deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Engine: "vllm"}

func whatIf(t *testing.T, db *sql.DB, slo analysis.SLO, scenarios ...analysis.Scenario) []analysis.Outlook {
	t.Helper()
	outlooks := must.Get(analysis.WhatIf(context.Background(), db, scenarios, slo))(t)
	return outlooks
}

func mixOf(t *testing.T, choice analysis.MixChoice, requests ...plan.Request) queueing.Mix {
	t.Helper()
	mix := must.Get(analysis.MixOf(plan.Each(requests), choice))(t)
	return mix
}

// Where all requests are alike, a mix is the load of their lengths, and says what predict says.
func TestWhatIfOfEqualRequestsIsAPrediction(t *testing.T) {
	db := open(t).DB()
	for _, test := range []struct {
		what string
		load analysis.Load
	}{
		{"an open loop", analysis.Load{RequestsPerS: 8, InputTokens: 1024, OutputTokens: 257}},
		{"a closed loop", analysis.Load{Clients: 48, InputTokens: 1024, OutputTokens: 257}},
		{"more clients than places", analysis.Load{Clients: 600, InputTokens: 1024, OutputTokens: 257}},
	} {
		predicted := must.Get(analysis.Predict(context.Background(), db, []analysis.Point{{Deployment: eightB, Load: test.load}}))(t)
		mix := mixOf(t, analysis.MixChoice{MaxConcurrency: int(test.load.Clients)},
			every(100, 8, plan.Request{InputTokens: int(test.load.InputTokens), OutputTokens: int(test.load.OutputTokens)})...)
		mix.ArrivalCV = 1 // predict's arrivals are Poisson's
		got := whatIf(t, db, analysis.SLO{}, analysis.Scenario{Deployment: eightB, Mix: mix})[0]
		within(t, test.what+": TPOT", got.TPOT.Value, predicted[0].TPOT, 3e-3)
		if !predicted[0].IsFull { // the band of a mix is that of its deployment, not of its load
			within(t, test.what+": low", got.TPOT.Low, predicted[0].Low, 2e-2)
		}
		within(t, test.what+": TTFT", got.TTFT.Value, predicted[0].TTFT, 3e-2)
		within(t, test.what+": ITL p99", got.ITLP99.Value, predicted[0].ITLP99, 7e-2) // several prompts are one chunk there, and added here
		within(t, test.what+": batch", got.Running, predicted[0].Batch, 1e-2)
		within(t, test.what+": rate", got.RequestsPerS, predicted[0].RequestsPerS, 1e-2)
	}
}

// One prompt in fifty is long, and has the mean of the work: the others wait for it, which a mean length hides.
func TestLongPromptsMakeTheWaitsOfAll(t *testing.T) {
	db := open(t).DB()
	requests := every(500, 4, plan.Request{InputTokens: 500, OutputTokens: 200})
	alike := every(500, 4, plan.Request{InputTokens: 990, OutputTokens: 200})
	for i := range requests {
		if i%50 == 0 {
			requests[i].InputTokens = 25000 // (49 * 500 + 25000) / 50 = 990
		}
	}
	got := whatIf(t, db, analysis.SLO{},
		analysis.Scenario{Deployment: eightB, Mix: mixOf(t, analysis.MixChoice{}, requests...)},
		analysis.Scenario{Deployment: eightB, Mix: mixOf(t, analysis.MixChoice{}, alike...)},
		analysis.Scenario{Deployment: eightB, Mix: mixOf(t, analysis.MixChoice{InputUpTo: 1000}, requests...)},
	)
	mixed, mean, short := got[0], got[1], got[2]
	if mixed.P99TTFT.Value < 3*mean.P99TTFT.Value {
		t.Errorf("p99 TTFT: got %v s of the mix and %v s of its mean length, want three times as much", mixed.P99TTFT.Value, mean.P99TTFT.Value)
	}
	if short.P99TTFT.Value > mixed.P99TTFT.Value/3 {
		t.Errorf("p99 TTFT: got %v s of the short prompts alone and %v s among the long, want a third", short.P99TTFT.Value, mixed.P99TTFT.Value)
	}
	within(t, "TPOT is that of the mean, attention aside", mixed.TPOT.Value, mean.TPOT.Value, 0.05)
}

// 5 ms after each long prompt a short one comes. Alone each short one finds an empty server, so that their p99 is what any of them takes; beside the
// long class it is that of the long prompt as well, of which 5 ms have passed.
func TestHeadOfLineIsWhatAClassDoesToTheOthers(t *testing.T) {
	var requests []plan.Request
	for i := range 120 {
		due := time.Duration(i) * 5 * time.Second
		requests = append(requests,
			plan.Request{Seq: int64(2 * i), Class: "long", Due: due, InputTokens: 25000, OutputTokens: 2},
			plan.Request{Seq: int64(2*i + 1), Class: "short", Due: due + 5*time.Millisecond, InputTokens: 300, OutputTokens: 2})
	}
	db := open(t).DB()
	answers := &analysis.Answers{DB: db}
	s := analysis.Scenario{Deployment: eightB, Replicas: 1, Scale: 1, Mix: mixOf(t, analysis.MixChoice{}, requests...)}
	outlook := whatIf(t, db, analysis.SLO{}, s)[0]
	h := must.Get(s.HeadOfLine(t.Context(), answers, &outlook, requests, analysis.MixChoice{}, "long"))(t)
	lone := func(r plan.Request) float64 {
		o, s, same := outlook, s, every(120, 0.2, r)
		s.Mix = mixOf(t, analysis.MixChoice{}, same...)
		must.Get(s.Rehearse(t.Context(), answers, &o, same, analysis.MixChoice{}, analysis.SLO{}))(t)
		return o.P99TTFT.Value
	}
	short, long := lone(requests[1]), lone(requests[0])
	within(t, "without the long class", h.Without.Value, short, 1e-6)
	within(t, "beside it", h.With.Value, long-0.005, 0.05)
	within(t, "factor", h.Factor.Value, h.With.Value/short, 1e-6)
	if h.Others != 120 || h.Factor.Value < 5 {
		t.Errorf("%d others, %v times", h.Others, h.Factor.Value)
	}
	must.Refuse(s.HeadOfLine(t.Context(), answers, &outlook, requests[:100], analysis.MixChoice{}, "long"))(t)
}

func TestCapacityIsTheLargestRateWithinTheSLO(t *testing.T) {
	db := open(t).DB()
	mix := mixOf(t, analysis.MixChoice{}, every(200, 5, plan.Request{InputTokens: 1000, OutputTokens: 200})...)
	slo := analysis.SLO{Objectives: []analysis.Objective{{Metric: "ttft", Percentile: 99, AtMost: 0.2}, {Metric: "tpot", Percentile: 95, AtMost: 0.02}}}
	two := analysis.Scenario{Deployment: eightB, Mix: mix, Replicas: 2}
	one := whatIf(t, db, slo, analysis.Scenario{Deployment: eightB, Mix: mix}, two)
	capacity := one[0].CapacityPerS
	if !(0 < capacity.Low && capacity.Low < capacity.Value && capacity.Value < capacity.High && capacity.High < one[0].StablePerS*1.3) {
		t.Fatalf("capacity: got %+v of at most %v", capacity, one[0].StablePerS)
	}
	mixAt := func(rate float64) analysis.Scenario {
		return analysis.Scenario{Deployment: eightB, Mix: mix, Scale: rate / mix.RequestsPerS}
	}
	at := whatIf(t, db, slo, mixAt(capacity.Low*0.999), mixAt(capacity.Value), mixAt(capacity.High*1.01), mixAt(capacity.Value*1.02))
	if at[0].SLO != analysis.Met || at[1].SLO != analysis.Undecided || at[2].SLO != analysis.NotMet {
		t.Errorf("below, at and above the capacity: got %q, %q, %q", at[0].SLO, at[1].SLO, at[2].SLO)
	}
	isOver := false
	for i, e := range at[1].Objectives {
		if e.At.Value > e.AtMost*1.001 {
			t.Errorf("%s at the capacity: got %v, want at most %v", e.Objective, e.At.Value, e.AtMost)
		}
		isOver = isOver || at[3].Objectives[i].At.Value > e.AtMost
	}
	if !isOver {
		t.Error("2 % above the capacity nothing is beyond its bound")
	}
	// Evenly spaced arrivals that are shared out by chance are less even, so two replicas do a little less than twice.
	if double := one[1].CapacityPerS.Value / capacity.Value; double > 2 || double < 1.8 {
		t.Errorf("two replicas: got %v times the capacity of one", double)
	}
	within(t, "headroom", one[0].Headroom, capacity.Value/5-1, 1e-6)
	within(t, "cost of an hour, two H100", *one[1].USDPerHour, 6, 1e-9)
	// 5 requests/s of 200 tokens are 3.6 M tokens an hour.
	within(t, "cost of a million tokens", *one[1].USDPerMillion, 6/3.6, 1e-6)
	busy := whatIf(t, db, slo, mixAt(3.5*capacity.Low))[0]
	if busy.Cautious != 4 || busy.Needed != 3 {
		t.Errorf("replicas for 3.5 times the low end of the capacity: got %d, %d by the low end; want 3 and 4", busy.Needed, busy.Cautious)
	}
}

// A metric that the model gives no figure of would read as an objective that no deployment can keep.
func TestEveryLatencyOfAnSLOIsPredicted(t *testing.T) {
	var slo analysis.SLO
	for _, name := range metric.All {
		if name != metric.FailureRatio {
			slo.Objectives = append(slo.Objectives, analysis.Objective{Metric: name, Percentile: 50, AtMost: 10})
		}
	}
	db, sent := open(t).DB(), every(50, 0.1, plan.Request{InputTokens: 200, OutputTokens: 50})
	s := analysis.Scenario{Deployment: eightB, Replicas: 1, Scale: 1, Mix: mixOf(t, analysis.MixChoice{}, sent...)}
	s.Mix.Clients = 2 // a rehearsal of an open load searches for its capacity, which takes half a minute
	outlook := whatIf(t, db, slo, s)[0]
	isPredicted := func(of string) {
		for _, e := range outlook.Objectives {
			if !(e.Unloaded.Value > 0) || !(e.At.Value > 0) {
				t.Errorf("%s is predicted as %v, unloaded %v: add its metric to of in analysis/%s", e.Objective, e.At.Value, e.Unloaded.Value, of)
			}
		}
	}
	isPredicted("mixcurve.go")
	must.Get(s.Rehearse(t.Context(), &analysis.Answers{DB: db}, &outlook, sent, analysis.MixChoice{}, slo))(t)
	isPredicted("whatifrehearsal.go")
}

// A lone prompt of 20,000 tokens takes an H100 half a second: 20,000 * 2 * 7 G FLOP at most at 989 TFLOP/s is 0.28 s.
func TestABoundBelowTheUnloadedTimeIsNotPossible(t *testing.T) {
	db := open(t).DB()
	mix := mixOf(t, analysis.MixChoice{ByClass: true}, every(50, 0.1, plan.Request{InputTokens: 20000, OutputTokens: 50, Class: "long"})...)
	slo := analysis.SLO{Objectives: []analysis.Objective{
		{Metric: "ttft", Percentile: 50, AtMost: 0.28, Class: "long"}, {Metric: "tpot", Percentile: 50, AtMost: 1},
	}}
	got := whatIf(t, db, slo, analysis.Scenario{Deployment: eightB, Mix: mix})[0]
	if got.Objectives[0].IsPossible || !got.Objectives[1].IsPossible {
		t.Fatalf("possible: got %v and %v, want false and true", got.Objectives[0].IsPossible, got.Objectives[1].IsPossible)
	}
	if got.CapacityPerS.Value != 0 || got.Needed != 0 || got.SLO != analysis.NotMet {
		t.Errorf("got a capacity of %v, %d replicas, %q; want none", got.CapacityPerS.Value, got.Needed, got.SLO)
	}
	must.Say(t, got.Objectives[0].Impossible(), "not possible at all: unloaded it is")
	slo.Objectives[0].Class = "none"
	must.Refuse(analysis.WhatIf(context.Background(), db, []analysis.Scenario{{Deployment: eightB, Mix: mix}}, slo))(t)
}

func TestWhatIfSaysWhyNot(t *testing.T) {
	db := open(t).DB()
	mix := mixOf(t, analysis.MixChoice{}, every(10, 1, plan.Request{InputTokens: 3000, OutputTokens: 200})...)
	long := mixOf(t, analysis.MixChoice{}, append(every(10, 1, plan.Request{InputTokens: 3000, OutputTokens: 200}),
		plan.Request{Due: 1e10, InputTokens: 140000, OutputTokens: 10})...)
	on := func(gpu, model string, gpus int) deployment.Deployment {
		return deployment.Deployment{GPU: gpu, CatalogModel: model, TensorParallelSize: gpus, Engine: "vllm"}
	}
	tests := []struct {
		scenario analysis.Scenario
		want     string
	}{
		{analysis.Scenario{Deployment: on("H100", "llama-3.1-70b", 1), Mix: mix}, "does not fit"},
		{analysis.Scenario{Deployment: on("H100", "llama-3.1-8b", 64), Mix: mix}, "32 attention heads"},
		{analysis.Scenario{Deployment: on("Z9", "llama-3.1-8b", 1), Mix: mix}, `no GPU named "Z9"`},
		{analysis.Scenario{Deployment: on("H200", "llama-3.1-8b", 1), Mix: long}, "140010 tokens are more than"},
		{analysis.Scenario{Deployment: eightB, Mix: mix}, ""},
	}
	var scenarios []analysis.Scenario
	for _, test := range tests {
		scenarios = append(scenarios, test.scenario)
	}
	for i, got := range whatIf(t, db, analysis.SLO{}, scenarios...) {
		if want := tests[i].want; !strings.Contains(got.Why, want) || (want == "") != (got.Why == "") {
			t.Errorf("%s x %d: got %q, want %q", scenarios[i].GPU, scenarios[i].TensorParallelSize, got.Why, want)
		}
	}
	at := mix
	at.RequestsPerS = math.Inf(-1)
	must.Refuse(analysis.WhatIf(context.Background(), db, []analysis.Scenario{{Deployment: eightB, Mix: at}}, analysis.SLO{}))(t)
}
