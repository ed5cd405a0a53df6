// What a run comes to without a warehouse: counts, lateness, and whether the client kept time. A run is invalid only for
// what the client or its machine did; failures of the server are results. The order in clientFault is that of certainty:
// what the machine ran out of, then what was late, then standing still, then lag.

package replay

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tidemark/replay/host"
	"tidemark/replay/plan"
)

const (
	statusRunning     = "running"
	statusDone        = "done"
	statusInterrupted = "interrupted" // the user stopped it: nothing was lost, the rest of the plan is unsent
	statusAborted     = "aborted"     // it stopped by itself: no server is left, or the disk is full
)

// Result is what a run has to say without a warehouse: counts, lateness and whether the client kept time. Whether too many
// requests failed is the warehouse's to judge. Planned is
// Completed + Failed + Unsent; a request that could not be connected has failed without having been sent.
type Result struct {
	Planned              int64             `json:"planned"`
	Sent                 int64             `json:"sent"` // their first byte was written
	Completed            int64             `json:"completed"`
	Failed               int64             `json:"failed"`
	Unsent               int64             `json:"unsent"`
	Failures             map[string]int64  `json:"failures"`
	InputTokensReported  int64             `json:"input_tokens_reported"`
	OutputTokensReported int64             `json:"output_tokens_reported"`
	CachedTokensReported int64             `json:"cached_tokens_reported"`
	LatenessS            host.Quantiles    `json:"lateness_s"`
	ClosedLoop           *ClosedLoop       `json:"closed_loop,omitempty"` // a closed loop is judged by it, any other mode by its lateness
	DurationS            float64           `json:"duration_s"`            // from the run's zero to the end of the last request
	ClientStallS         float64           `json:"client_stall_s"`        // the longest that the client itself stood still with requests in flight
	IsValid              bool              `json:"is_valid"`
	InvalidReason        string            `json:"invalid_reason"`
	ClientLimit          string            `json:"client_limit,omitempty"` // what this machine ran out of
	Client               *host.Certificate `json:"client,omitempty"`
	Status               string            `json:"-"` // done, interrupted or aborted

	connecting connecting // of late requests
}

// outcome gathers rows into a result; one goroutine feeds it.
type outcome struct {
	result    Result
	lateness  []float64
	end       time.Duration
	chunks    int64 // that brought tokens
	coalesced int64 // of these, in a read together with another
	context   contextMean
	slots     int // of a closed loop; else 0
	slotUses  []slotUse
}

// add takes a row once; it must not keep the row's slices, which are reused.
func (o *outcome) add(r *row) {
	if r.sent != unknown {
		o.result.Sent++
		o.lateness = append(o.lateness, r.lateness().Seconds())
		o.result.connecting.add(r.lateness(), r.connect)
		if o.slots > 0 {
			o.slotUses = append(o.slotUses, slotUse{r.req.Due + r.held, r.sent, r.done})
		}
	}
	if r.failure == "" {
		o.result.Completed++
	} else {
		o.result.Failed++
		o.result.Failures[r.failure]++
	}
	o.result.InputTokensReported += max(r.usage.Prompt, 0)
	o.result.OutputTokensReported += max(r.usage.Completion, 0)
	o.result.CachedTokensReported += max(r.usage.Cached, 0)
	o.end = max(o.end, r.done)
	o.coalesced += sharedReads(r.offsets)
	o.chunks += int64(len(r.offsets))
	if !r.isOther {
		o.context.add(r.req)
	}
}

// sharedReads counts the chunks of one answer that bear the instant of another: they came in one read.
func sharedReads(offsets []int64) (n int64) {
	for i, at := range offsets {
		if i > 0 && offsets[i-1] == at || i+1 < len(offsets) && offsets[i+1] == at {
			n++
		}
	}
	return n
}

// contextMean is the mean context of a request to the run's own model that is in flight, by those that have ended: one is in flight about as
// long as its output, and half of that is there on average. It may be read while it is added to.
type contextMean struct{ tokens, weight atomic.Int64 }

// add weights each request by its output, which is about how long it was in flight.
func (c *contextMean) add(req plan.Request) {
	output := int64(req.OutputTokens)
	c.tokens.Add(output * (int64(req.InputTokens) + output/2))
	c.weight.Add(output)
}

// mean falls back on the plan until something has ended.
func (c *contextMean) mean(plan plan.Header) float64 {
	if weight := c.weight.Load(); weight > 0 {
		return float64(c.tokens.Load()) / float64(weight)
	}
	return (float64(plan.InputTokens) + float64(plan.OutputTokens)/2) / float64(max(plan.Requests, 1))
}

// limits is what a run may be off and still be believed.
type limits struct{ lateness, stall time.Duration }

// observed is what was seen of the client while it measured.
type observed struct {
	stall, lag time.Duration // the longest stall, and the p99 of its lags, where there are enough to say
	client     host.Certificate
}

// finish turns the counts into a result and judges the client.
func (o *outcome) finish(planned int64, most limits, seen observed, clientLimit *string) Result {
	r := o.result
	r.ClientStallS, r.Client = seen.stall.Seconds(), &seen.client
	if o.chunks > 0 {
		ratio := float64(o.coalesced) / float64(o.chunks)
		r.Client.CoalescedRatio = &ratio
	}
	r.Planned, r.Unsent, r.DurationS = planned, planned-r.Completed-r.Failed, o.end.Seconds()
	slices.Sort(o.lateness)
	r.LatenessS = host.QuantilesOf(o.lateness)
	r.ClosedLoop = closedLoop(o.slotUses, o.slots)
	r.InvalidReason = r.clientFault(most, seen, o.slots > 0, clientLimit)
	r.IsValid = r.InvalidReason == ""
	return r
}

// clientFault is what the client or its machine did to the run; empty for nothing.
func (r *Result) clientFault(most limits, seen observed, isClosed bool, clientLimit *string) string {
	late := plan.FromSeconds(r.LatenessS.P99)
	switch {
	case clientLimit != nil:
		r.ClientLimit = *clientLimit
		return r.ClientLimit
	case r.Sent == 0 && r.Failed == 0:
		return "nothing was sent"
	case isClosed && r.ClosedLoop.isLost():
		return fmt.Sprintf("the closed loop kept %.4g of %d in flight, %.3g %%, and not 99 %%: the client filled free slots late (p99 %.3g s)",
			r.ClosedLoop.MeanInFlight, r.ClosedLoop.Asked, r.ClosedLoop.KeptRatio*100, r.LatenessS.P99) + r.Client.Blame(late, r.DurationS)
	case !isClosed && late > most.lateness:
		return fmt.Sprintf("p99 lateness %.3g s is above %.3g s", r.LatenessS.P99, most.lateness.Seconds()) +
			cmp.Or(r.connecting.blame(), r.Client.Blame(late, r.DurationS))
	case seen.stall > most.stall:
		return fmt.Sprintf("the client itself stood still for %.3g s, more than %.3g s", seen.stall.Seconds(), most.stall.Seconds()) +
			r.Client.Blame(seen.stall, r.DurationS)
	case seen.lag > most.lateness:
		return fmt.Sprintf("the client came to run %.3g s late at p99, more than %.3g s", seen.lag.Seconds(), most.lateness.Seconds()) +
			r.Client.Blame(seen.lag, r.DurationS)
	}
	return ""
}
