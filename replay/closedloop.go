// Whether a closed loop kept its number of requests in flight. Mean in flight is Little's law read backwards: the sum of the
// times in flight over the time looked at. The first filling and the last emptying are left out, where fewer are in flight
// by construction. What is missing was lost either by the client, which sent late into a free slot, or by the plan.

package replay

import (
	"cmp"
	"slices"
	"time"
)

// ClosedLoop is how a closed loop was kept: what was in flight compared with what was asked for, without the time until each slot
// had been used once and the time after the last request was sent. queries/marts/closed_loops.sql says the same by the
// same rule.
type ClosedLoop struct {
	Asked        int     `json:"asked"`
	MeanInFlight float64 `json:"mean_in_flight"`
	KeptRatio    float64 `json:"kept_ratio"` // of the two
	// LateRatio is the part of what is missing that the client lost: slots were free, and it sent late. The rest was lost
	// by the plan, whose next turn was not due.
	LateRatio float64 `json:"late_ratio"`
}

// mostLost of the slots' time may be lost to the client's own lateness.
const mostLost = 0.01

func (c *ClosedLoop) isLost() bool { return c != nil && c.LateRatio > mostLost }

// slotUse is one use of a slot.
type slotUse struct{ due, sent, done time.Duration }

// closedLoop is nil where no slot was used twice.
func closedLoop(turns []slotUse, slots int) *ClosedLoop {
	if slots == 0 || len(turns) <= slots {
		return nil
	}
	slices.SortFunc(turns, func(a, b slotUse) int { return cmp.Compare(a.sent, b.sent) })
	from, until := turns[slots-1].sent, turns[len(turns)-1].sent
	within := func(a, b time.Duration) time.Duration { return max(min(b, until)-max(a, from), 0) }
	var inFlight, late time.Duration
	for _, t := range turns {
		inFlight += within(t.sent, t.done)
		late += within(t.due, t.sent)
	}
	span := float64(until - from)
	if span == 0 {
		return nil
	}
	mean, asked := float64(inFlight)/span, float64(slots)
	return &ClosedLoop{Asked: slots, MeanInFlight: mean, KeptRatio: mean / asked, LateRatio: float64(late) / span / asked}
}
