package analysis

import (
	"time"

	"tidemark/replay/plan"
)

// TPOTOf is TPOT in the mean mix of a plan's requests.
func (c StepCost) TPOTOf(inFlight int, contextTokens float64, of plan.Header) time.Duration {
	mean := func(tokens int64) float64 { return float64(tokens) / max(float64(of.Requests), 1) }
	return plan.FromSeconds(c.TPOT(inFlight, contextTokens, mean(of.InputTokens), mean(of.SharedTokens), mean(of.OutputTokens)))
}

// SteadyState is a server at the rate of a plan. With a prefill of 1 or more, or a batch beyond its seats, the rate is not sustained.
type SteadyState struct {
	PrefillRatio float64 // of the time: seconds of prefill that come in a second
	Batch        float64 // requests that decode at once
	Seats        float64 // requests that --max-num-seqs and the KV cache let in
	TPOT         float64 // seconds
}

// SteadyState predicts how many requests decode at once. It is the mean-field server of an open loop: at a rate
// of lam requests a second, each of which adds x seconds of prefill to the steps of
// others and decodes n tokens after its first,
//
//	tau = T_dec(B) / (1 - lam x)    B = lam n tau
//
// iterated to the batch B that keeps itself up.
func (c StepCost) SteadyState(h plan.Header) (s SteadyState) {
	requests := float64(h.Requests)
	lam := requests / h.DurationS
	prompt := float64(h.InputTokens-h.SharedTokens) / requests
	context := float64(h.InputTokens)/requests + float64(h.OutputTokens)/requests/2
	windowed := context
	if c.SlidingWindow > 0 {
		windowed = min(context, float64(c.SlidingWindow))
	}
	step := func(batch float64, prefill int) float64 {
		return c.Seconds(max(1, int(batch+0.5)), int64(batch*context), int64(batch*windowed),
			prefill, min(prefill, 1), float64(prefill)*(context-float64(prefill)/2))
	}
	s.PrefillRatio = lam * (step(1, int(prompt)) - step(1, 0))
	s.Seats = min(float64(c.Deployment.MaxNumSeqs*max(c.Deployment.DataParallelSize, 1)), float64(c.KVCapacityTokens)/context)
	s.Batch = 1
	for range 1000 {
		if s.PrefillRatio >= 1 || s.Batch > s.Seats {
			break
		}
		s.TPOT = step(s.Batch, 0) / (1 - s.PrefillRatio)
		s.Batch += (lam*max(0, float64(h.OutputTokens)/requests-1)*s.TPOT - s.Batch) / 2
	}
	return s
}
