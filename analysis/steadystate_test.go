package analysis

import (
	"math"
	"testing"

	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// An H100 with Llama-3.1-8B: a step of one sequence takes 6.92 ms at a context
// of 1,050, a prompt of 1,000 tokens adds 18.3 ms.
func TestSteadyState(t *testing.T) {
	w := warehousetest.Open(t)
	cost, err := LoadStepCost(t.Context(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Engine: "vllm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sentence    string
		requests    int64 // of a minute
		seats       int
		isSustained bool
		figure      func(SteadyState) float64
		want        float64
	}{
		{"1/s x 100 tokens x 6.61 ms / (1 - 19.7 ms) = 0.674 in flight", 60, 256, true, func(s SteadyState) float64 { return s.Batch }, 0.674},
		{"59 prompts a second are more than a second of prefill", 59 * 60, 256, false, func(s SteadyState) float64 { return s.PrefillRatio }, 1.081},
		{"40/s would need more than 16 seats", 40 * 60, 16, false, func(s SteadyState) float64 { return s.Seats }, 16},
	} {
		cost.Deployment.MaxNumSeqs = c.seats
		s := cost.SteadyState(plan.Header{Requests: c.requests, DurationS: 60, InputTokens: 1000 * c.requests, OutputTokens: 101 * c.requests})
		if isSustained := s.PrefillRatio < 1 && s.Batch <= s.Seats; isSustained != c.isSustained || math.Abs(c.figure(s)/c.want-1) > 0.005 {
			t.Errorf("%s: got %+v, want sustained %v and %v", c.sentence, s, c.isSustained, c.want)
		}
	}
}
