//go:build duckdb_arrow

package week

import (
	"context"
	"database/sql"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

var toy = deployment.Deployment{GPU: "toy", CatalogModel: "toy"}

func fleetOf(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	setup := must.Get(os.ReadFile("testdata/fleet.sql"))(t)
	return warehousetest.Open(t, string(setup))
}

// at is an instant of Monday, 16 November 2026, UTC.
func at(hour, minute int) time.Time { return time.Date(2026, 11, 16, hour, minute, 0, 0, time.UTC) }

// near wants a number within a share of what was worked out by hand.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// The batch that a token is in is (10^2 + 30^2) / (10 + 30) = 25, at 10,000 tokens each. A step takes 0.8 ms for weights, 25 * 10,000 ns = 0.25 ms for the
// cache, 25 * 0.4 us = 0.01 ms of arithmetic, 1 ms for the layer and 2 + 25 * 0.5 = 14.5 ms of the host: 16.56 ms. Bytes need 0.4 + 0.25 = 0.65 ms. Gaps last
// (6,000 * 12 + 18,000 * 20) / 24,000 = 18 ms, within 16.56 * 1.2 = 19.87 ms; from 11:00 on 21 ms, which is beyond. At 12:00 one look is left: no row.
func TestStepsAreMeasuredBesideTheirPrediction(t *testing.T) {
	r := &Report{TimeZone: "UTC", Hours: []Hour{{Start: at(10, 0)}, {Start: at(11, 0)}, {Start: at(12, 0)}}}
	steps, err := stepsIn(t, fleetOf(t).DB(), r, toy)
	if err != nil || len(steps) != 2 {
		t.Fatalf("got %+v and %v, want two hours", steps, err)
	}
	for i, want := range []struct {
		measured float64
		isOut    bool
	}{{18e-3, false}, {21e-3, true}} {
		s := steps[i]
		near(t, "measured", s.Measured, want.measured, 1e-9)
		near(t, "running", s.Running, 25, 1e-9)
		near(t, "context", s.Context, 10000, 1e-9)
		// A few of the 25 wait for their first token, so a little less decodes.
		near(t, "predicted", s.Predicted, 16.56e-3, 2e-3)
		near(t, "floor", s.Floor, 0.65e-3, 2e-3)
		near(t, "low", s.Low, s.Predicted/1.2, 1e-9)
		near(t, "high", s.High, s.Predicted*1.2, 1e-9)
		near(t, "weights", s.term("weights"), 0.8e-3, 1e-9)
		near(t, "kv", s.term("kv"), 0.25e-3, 2e-3)
		near(t, "layers", s.term("layers"), 1e-3, 1e-9)
		near(t, "host", s.term("host"), 14.5e-3, 2e-3)
		// 24 prompts of 1,000 new tokens come in an answer: each 0.2 ms and a little attention, over 1,999 gaps.
		near(t, "prefill", s.term("prefill"), 24*0.2e-3/1999, 0.1)
		sum := 0.0
		for _, term := range s.Terms {
			sum += term.Seconds
		}
		near(t, "terms", sum, s.Predicted, 1e-9)
		if s.IsOut != want.isOut || !s.Start.Equal(r.Hours[i].Start) {
			t.Errorf("got out of band %v at %v, want %v", s.IsOut, s.Start, want.isOut)
		}
	}
	if len(r.Notes) != 0 {
		t.Errorf("got notes %q", r.Notes)
	}
}

// An hour of a zone that is half an hour off is half of each: gaps of (18 + 21) / 2 = 19.5 ms.
func TestAnHourMayBeginAtAnyQuarter(t *testing.T) {
	hours, err := ServerHours(context.Background(), fleetOf(t).DB(), []int64{1}, []Hour{{Start: at(10, 30)}, {Start: at(20, 30)}})
	if err != nil || len(hours) != 1 {
		t.Fatalf("got %+v and %v, want one hour", hours, err)
	}
	mean, _ := hours[0].ratio("gap_s", "gaps")
	near(t, "gap", mean, 19.5e-3, 1e-9)
	near(t, "gaps", hours[0].Sums["gaps"], 6*24000, 1e-9)
	if got := hours[0].Waiting; len(got) != 4 || got[0] != 0 || got[1] != 0 || got[2] != 1 || got[3] != 5 {
		t.Errorf("got queues %v of the quarters, want 0 0 1 5", got)
	}
}

// loaded by hand, for what the fleet does not show.
func TestAnHourAsALoad(t *testing.T) {
	sums := func(change map[string]float64) ServerHour {
		s := map[string]float64{
			"engine_looks": 10, "running": 100, "running_squares": 2000, "gaps": 1000, "gap_s": 20,
			"finished_requests": 10, "prompt_tokens": 9000, "generation_tokens": 2000, "cached_tokens": 4000,
		}
		for name, value := range change {
			if s[name] = value; math.IsNaN(value) {
				delete(s, name)
			}
		}
		return ServerHour{Sums: s}
	}
	none := math.NaN()
	for _, test := range []struct {
		what                   string
		change                 map[string]float64
		isEnough               bool
		tpot, context, in, out float64
		cached                 float64
	}{
		{"mean lengths: 900 + 200 / 2", nil, true, 20e-3, 1000, 900, 200, 400},
		// 5 % of 80,000 tokens over 10 who run are 400 each, 0.4 of 1,000: all lengths are 0.4 times as long.
		{"the cache says less", map[string]float64{"kv_used_ratio": 0.05, "kv_running": 10}, true, 20e-3, 400, 360, 80, 160},
		{"the cache says more", map[string]float64{"kv_used_ratio": 0.5, "kv_running": 20}, true, 20e-3, 2000, 1800, 400, 800},
		{"requests' own means", map[string]float64{"gaps": none, "tpot_requests": 100, "tpot_s": 3}, true, 30e-3, 1000, 900, 200, 400},
		{"too few gaps", map[string]float64{"gaps": 999}, false, 0, 0, 0, 0, 0},
		{"too few requests", map[string]float64{"gaps": none, "tpot_requests": 99, "tpot_s": 3}, false, 0, 0, 0, 0, 0},
		{"too few looks", map[string]float64{"engine_looks": 9}, false, 0, 0, 0, 0, 0},
		{"nothing ran", map[string]float64{"running": 0, "running_squares": 0}, false, 0, 0, 0, 0, 0},
		{"nothing ended", map[string]float64{"finished_requests": 0}, false, 0, 0, 0, 0, 0},
	} {
		got, isEnough := sums(test.change).loaded(80000)
		if isEnough != test.isEnough {
			t.Errorf("%s: got enough %v", test.what, isEnough)
		}
		if !test.isEnough {
			continue
		}
		near(t, test.what+": time", got.tpotS, test.tpot, 1e-9)
		near(t, test.what+": running", got.running, 20, 1e-9)
		near(t, test.what+": context", got.context, test.context, 1e-9)
		near(t, test.what+": input", got.load.InputTokens, test.in, 1e-9)
		near(t, test.what+": output", got.load.OutputTokens, test.out, 1e-9)
		near(t, test.what+": cached", got.load.CachedTokens, test.cached, 1e-9)
	}
}

// Without a prediction there are no rows, and a note says why.
func TestStepsWithoutAPredictionSayWhy(t *testing.T) {
	r := &Report{TimeZone: "UTC", Hours: []Hour{{Start: at(10, 0)}, {Start: at(11, 0)}}}
	unknown := toy
	unknown.CatalogModel = "another"
	steps, err := stepsIn(t, fleetOf(t).DB(), r, unknown)
	if err != nil || len(steps) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `in 2 hours: no model named "another"`) {
		t.Errorf("got %+v, %v and %q", steps, err, r.Notes)
	}
}

// stepsIn are the steps of source 1 in a report's hours.
func stepsIn(t *testing.T, db *sql.DB, r *Report, d deployment.Deployment) ([]StepTime, error) {
	t.Helper()
	hours := must.Get(ServerHours(t.Context(), db, []int64{1}, r.Hours))(t)
	return StepsOf(t.Context(), db, hours, r, d)
}
