package replay

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	statusRunning     = "running"
	statusDone        = "done"
	statusInterrupted = "interrupted" // the user stopped it: nothing was lost, the rest of the plan is unsent
	statusAborted     = "aborted"     // it stopped by itself: the server has gone, or the disk is full
)

// Result is what a run has to say without a warehouse: counts, lateness and whether it may be believed. Planned is
// Completed + Failed + Unsent; a request that could not be connected has failed without having been sent.
type Result struct {
	Planned              int64            `json:"planned"`
	Sent                 int64            `json:"sent"` // their first byte was written
	Completed            int64            `json:"completed"`
	Failed               int64            `json:"failed"`
	Unsent               int64            `json:"unsent"`
	Failures             map[string]int64 `json:"failures"`
	InputTokensReported  int64            `json:"input_tokens_reported"`
	OutputTokensReported int64            `json:"output_tokens_reported"`
	LatenessS            Quantiles        `json:"lateness_s"`
	DurationS            float64          `json:"duration_s"`     // from the run's zero to the end of the last request
	ClientStallS         float64          `json:"client_stall_s"` // the longest that the client itself stood still with requests in flight
	IsValid              bool             `json:"is_valid"`
	InvalidReason        string           `json:"invalid_reason"`
	Status               string           `json:"-"` // done, interrupted or aborted
}

// Quantiles of seconds, by linear interpolation.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// outcome gathers rows into a result; one goroutine feeds it.
type outcome struct {
	result   Result
	lateness []float64
	end      time.Duration
}

func (o *outcome) add(r *row) {
	if r.sent != unknown {
		o.result.Sent++
		o.lateness = append(o.lateness, r.lateness().Seconds())
	}
	if r.failure == "" {
		o.result.Completed++
	} else {
		o.result.Failed++
		o.result.Failures[r.failure]++
	}
	o.result.InputTokensReported += max(r.usage.prompt, 0)
	o.result.OutputTokensReported += max(r.usage.completion, 0)
	o.end = max(o.end, r.done)
}

// limits is what a run may be off and still be believed.
type limits struct{ lateness, stall time.Duration }

func (o *outcome) finish(planned int64, most limits, stall time.Duration, clientLimit *string) Result {
	r := o.result
	r.ClientStallS = stall.Seconds()
	r.Planned, r.Unsent, r.DurationS = planned, planned-r.Completed-r.Failed, o.end.Seconds()
	slices.Sort(o.lateness)
	r.LatenessS = Quantiles{quantile(o.lateness, 0.5), quantile(o.lateness, 0.99), quantile(o.lateness, 1)}
	switch {
	case clientLimit != nil:
		r.InvalidReason = *clientLimit
	case r.Sent == 0:
		r.InvalidReason = "nothing was sent"
	case r.LatenessS.P99 > most.lateness.Seconds():
		r.InvalidReason = fmt.Sprintf("p99 lateness %.3g s is above %.3g s", r.LatenessS.P99, most.lateness.Seconds())
	case stall > most.stall:
		r.InvalidReason = fmt.Sprintf("the client itself stood still for %.3g s, more than %.3g s", stall.Seconds(), most.stall.Seconds())
	}
	r.IsValid = r.InvalidReason == ""
	return r
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}
