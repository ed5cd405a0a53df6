package fleet

import (
	"context"
	"math"
	"testing"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/plan"
)

// Fleets of 1, 2, 4 and 8 take 0, 2 (1 each), 8 (2 each) and 24 (3 each) where one of four takes 2. One of six takes 2 * 1.5^(ln 1.5 / ln 2).
func TestEnoughReplicasOfAFleet(t *testing.T) {
	rates := map[int]float64{1: 0, 2: 1, 4: 2, 8: 3}
	asked := []int{}
	r := &ratios{full: Capacity{Replicas: 4, Most: 1, PerS: 2}, ln: map[int]float64{4: 0}, perS: func(n int) (float64, error) {
		asked = append(asked, n)
		return rates[n], nil
	}}
	within(t, "one of six", 2*r.of(6), 2*math.Pow(1.5, math.Log(1.5)/math.Log(2)), 1e-9)
	for peak, want := range map[float64]int{0.01: 2, 2: 2, 2.1: 3, 8: 4, 24: 8, 24.1: 9, 300: 100} {
		if got := r.enough(peak, 2); got == nil || *got != want {
			t.Errorf("%v requests/s need %v replicas, want %d", peak, got, want)
		}
	}
	if got := r.enough(1, 0); got != nil {
		t.Errorf("no rate is small enough, yet %d replicas are enough", *got)
	}
	if len(asked) != 3 {
		t.Errorf("sizes %v were rehearsed, want 1, 2 and 8 once each", asked)
	}
}

// A server with one slot takes a request at a time. Alone it keeps a p99 TTFT of three seconds only while it is all but idle; ten of them share what comes. The
// replicas that an hour needs are those that a search by hand over fleets finds: each is played until its p99 is within the bound.
func TestAFleetOfOneSlotServers(t *testing.T) {
	oneSlot := engineOf(large)
	oneSlot.MaxNumSeqs = 1
	server := Server{Engine: oneSlot, Band: 0.15, Replicas: 10, Objectives: []capacity.Objective{{Metric: metric.TTFTFromDue, Quantile: 0.99, AtMost: 3}}, requests: 3000}
	slow := traffic{500, 180, 0.9, 0.7, 0}
	for _, routing := range []string{rehearsal.Turns, rehearsal.LeastLoaded} {
		server.Routing = routing
		for _, perS := range []float64{0.005, 0.1, 0.3, 1} {
			shape := Shape{Requests: slow.draw(perS, plan.FromSeconds(2000/perS), 3), Span: plan.FromSeconds(2000 / perS)}
			need, err := server.NeedOf(t.Context(), shape, perS, nil)
			if err != nil || need.Needed == nil {
				t.Fatalf("%s, %v/s: %+v, %v", routing, perS, need, err)
			}
			want := smallestFleet(t, oneSlot, routing, slow, perS)
			t.Logf("%s, %v/s: %d replicas (%d to %d), by hand %d", routing, perS, *need.Needed, *need.Fewest, *need.Most, want)
			if math.Abs(float64(*need.Needed-want)) > 1 {
				t.Errorf("%s, %v/s: %d replicas, want %d within one", routing, perS, *need.Needed, want)
			}
		}
	}
}

// smallestFleet plays larger and larger fleets until the p99 of TTFT is within three seconds.
func smallestFleet(t *testing.T, server engine.Config, routing string, f traffic, perS float64) int {
	planned := f.draw(perS, plan.FromSeconds(6000/perS), 99)
	for n := 1; ; n++ {
		late, all := 0, 0
		err := rehearsal.Play(context.Background(), rehearsal.Settings{Engine: server, Replicas: n, Routing: routing}, func(yield func(plan.Request, error) bool) {
			for _, r := range planned {
				if !yield(r, nil) {
					return
				}
			}
		}, func(r *rehearsal.Request) error {
			all++
			if r.TTFT().Seconds() > 3 {
				late++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if float64(late) <= 0.01*float64(all) {
			return n
		}
	}
}
