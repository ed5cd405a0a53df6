package capacity

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Limits find what the curve of a search finds for each objective, with a slower twin too, and say which objective binds.
func TestLimitsAreThoseOfTheCurve(t *testing.T) {
	q := Question{Window: poisson(6, 2*time.Minute, 3), Length: 2 * time.Minute, Objectives: latency(0.95, 1, 0.03), Seed: 1, MaxScale: 5,
		Twin: Twin{Engine: engineOf(2048, 26000), StepTime: ShiftedSteps(llama8B.time)}}
	const requests = 2000
	l := must.Get(NewLimits(t.Context(), q, requests))(t)
	var lns []float64
	for _, shift := range []Shift{{}, {All: 0.1}} {
		got := must.Get(l.At(shift, 0, false))(t)
		want, binding := math.Inf(1), 0
		for j := range q.Objectives {
			if ln := newCurve(l.twin, l.plans, shift, requests).limit(j, 0, got.Ln).lnScale; ln < want {
				want, binding = ln, j
			}
		}
		if math.Abs(got.Ln-want) > 0.02 || got.Objective != binding || !(got.Noise > 0) {
			t.Errorf("%+v: got %+v, want %.3f by %d", shift, got, want, binding)
		}
		lns = append(lns, got.Ln)
	}
	if !(lns[1] < lns[0]) {
		t.Errorf("a slower server takes more: %v", lns)
	}
	q.Objectives = latency(0.95, 1e-6, 1)
	l = must.Get(NewLimits(t.Context(), q, requests))(t)
	if got, err := l.At(Shift{}, 0, true); err != nil || !math.IsInf(got.Ln, -1) || got.Objective != 0 {
		t.Errorf("a TTFT of 1 us: %+v, %v: want no multiple, by the first objective", got, err)
	}
}
