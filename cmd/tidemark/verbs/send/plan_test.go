package send

import (
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// An H100 with Llama-3.1-8B: a step of one sequence takes 6.92 ms at a context
// of 1,050, a prompt of 1,000 tokens adds 17.4 ms.
func TestSteadyState(t *testing.T) {
	w := warehousetest.Open(t)
	cost, err := analysis.LoadStepCost(t.Context(), w.DB(), DemoDeployment)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sentence string
		requests int64 // of a minute
		seats    int
		want     string
	}{
		{"1/s x 100 tokens x 7.03 ms / (1 - 17.4 ms) = 0.715 in flight", 60, 256, "about 0.715"},
		{"59 prompts a second are more than a second of prefill", 59 * 60, 256, "not sustained: each second brings 1.03 s of prefill"},
		{"40/s would need more than 16 seats", 40 * 60, 16, "not sustained: more than 16,"},
	} {
		cost.Deployment.MaxNumSeqs = c.seats
		h := plan.Header{Requests: c.requests, DurationS: 60, InputTokens: 1000 * c.requests, OutputTokens: 101 * c.requests}
		if got := steadyState(cost, h); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q...", c.sentence, got, c.want)
		}
	}
}
