package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/splitmix"
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
			want := smallest(t, oneSlot, routing, slow.draw(perS, plan.FromSeconds(6000/perS), 99), server.Objectives)
			t.Logf("%s, %v/s: %d replicas (%d to %d), by hand %d", routing, perS, *need.Needed, *need.Fewest, *need.Most, want)
			if math.Abs(float64(*need.Needed-want)) > 1 {
				t.Errorf("%s, %v/s: %d replicas, want %d within one", routing, perS, *need.Needed, want)
			}
		}
	}
}

// smallest plays larger and larger fleets until every objective is kept.
func smallest(t *testing.T, server engine.Config, routing string, planned []plan.Request, objectives []capacity.Objective) int {
	for n := 1; ; n++ {
		late, all := make([]float64, len(objectives)), make([]float64, len(objectives))
		must.Do(t, rehearsal.PlayAll(context.Background(), rehearsal.Settings{Engine: server, Replicas: n, Routing: routing}, planned, func(r *rehearsal.Request) error {
			for j, o := range objectives {
				value := r.TTFT()
				if o.Metric == metric.TPOT {
					value = r.TPOT()
				}
				if o.Class == "" || o.Class == r.Class {
					all[j]++
					if value.Seconds() > o.AtMost {
						late[j]++
					}
				}
			}
			return nil
		}))
		isKept := true
		for j, o := range objectives {
			isKept = isKept && late[j] <= (1-o.Quantile)*all[j]
		}
		if isKept {
			return n
		}
	}
}

// Chats of four turns, each of which repeats what was said before it, and beside them single requests of a class with a bound of its own. Sessions stay on their replica. The
// replicas needed are those of a search by hand, within one.
func TestFleetsOfSessionsAndClasses(t *testing.T) {
	server := Server{Engine: engineOf(large), Band: 0.15, Replicas: 4, requests: 2500, Objectives: []capacity.Objective{
		{Metric: metric.TTFTFromDue, Quantile: 0.95, AtMost: 1.5, Class: "chat"}, {Metric: metric.TTFTFromDue, Quantile: 0.95, AtMost: 15, Class: "batch"},
		{Metric: metric.TPOT, Quantile: 0.95, AtMost: 0.045, Class: "chat"}}}
	for _, perS := range []float64{12, 3, 24}[:proof.Many(1, 3)] {
		shape := Shape{Requests: mixed(perS, 15*time.Minute, 1), Span: 15 * time.Minute}
		need, err := server.NeedOf(t.Context(), shape, perS, nil)
		if err != nil || need.Needed == nil {
			t.Fatalf("%v/s: %+v, %v", perS, need, err)
		}
		caching := server.Engine
		caching.EnablePrefixCaching = true
		want := smallest(t, caching, "", mixed(perS, 30*time.Minute, 2), server.Objectives)
		t.Logf("%v/s: %d replicas (%d to %d), by hand %d", perS, *need.Needed, *need.Fewest, *need.Most, want)
		if math.Abs(float64(*need.Needed-want)) > 1 {
			t.Errorf("%v/s: %d replicas, want %d within one", perS, *need.Needed, want)
		}
	}
}

// mixed draws half of the requests in chats of four turns half a minute apart, and half in a class of long ones.
func mixed(perS float64, span time.Duration, seed uint64) (all []plan.Request) {
	const block = 16
	lengths := traffic{600, 150, 0.6, 0.5, 0}
	for i, first := range lengths.draw(perS/8, span, seed) {
		prompt := first.InputTokens
		for turn := range 4 {
			r := first
			r.Due += time.Duration(turn) * 30 * time.Second
			r.Session, r.Turn, r.Class, r.BlockTokens = fmt.Sprint("s", seed, " ", i), turn, "chat", block
			r.InputTokens = prompt + turn*(first.OutputTokens+200)
			for b := range r.InputTokens / block {
				r.Blocks = append(r.Blocks, splitmix.Mix(seed<<40|uint64(i)<<16|uint64(b)))
			}
			if r.Due < span {
				all = append(all, r)
			}
		}
	}
	for _, r := range (traffic{2500, 300, 0.5, 0.5, 0}).draw(perS/2, span, seed+100) {
		r.Class = "batch"
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b plan.Request) int { return cmp.Compare(a.Due, b.Due) })
	for i := range all {
		all[i].Seq = int64(i)
	}
	return all
}
