package host

import (
	"context"
	"sync/atomic"
	"time"
)

// beatEvery is often enough to see a stall that matters and costs a core less than a hundredth: each beat wakes a thread.
const beatEvery = 20 * time.Millisecond

// Heartbeat finds out when the client itself stands still or comes to run late: suspended, out of CPU, or in a long
// collection. What was read from a stream just after that bears an instant that the server is not to blame for.
type Heartbeat struct {
	Flight func() (sent, ended int64) // requests so far
	recent atomic.Int64
	worst  atomic.Int64 // while something was in flight
	Lags   Histogram    // of all beats while something was in flight
	before [steps]int64
}

// Beat runs until ctx ends. A stall is by how much a sleep was longer than asked for. It is judged a beat later: a request
// that the client had just written when it stood still is counted as sent a moment after.
func (h *Heartbeat) Beat(ctx context.Context, sleep Sleep) {
	last := pulse{stall: -1}
	for {
		_, left := h.Flight()
		began := time.Now()
		goesOn := sleep(ctx, beatEvery)
		now := pulse{left, time.Since(began) - beatEvery}
		raise(&h.recent, int64(now.stall))
		h.judge(last)
		if last = now; !goesOn {
			h.judge(last)
			return
		}
	}
}

// pulse is one beat: how many answers had ended when it began, and how late it was.
type pulse struct {
	left  int64
	stall time.Duration
}

// judge counts a beat in which something was in flight at some time: its stall spoils a measurement.
func (h *Heartbeat) judge(p pulse) {
	if sent, _ := h.Flight(); sent > p.left && p.stall >= 0 {
		raise(&h.worst, int64(p.stall))
		h.Lags.Add(p.stall)
	}
}

// raise is an atomic maximum.
func raise(most *atomic.Int64, value int64) {
	for old := most.Load(); value > old && !most.CompareAndSwap(old, value); {
		old = most.Load()
	}
}

// SinceLast is the longest stall since it was last asked for, and the p99 of the lags; one goroutine asks at a time.
func (h *Heartbeat) SinceLast() (stall, lagP99 time.Duration) {
	counts, _ := h.Lags.snapshot()
	fresh, all := counts, int64(0)
	for i := range fresh {
		fresh[i] -= h.before[i]
		all += fresh[i]
	}
	h.before = counts
	stall = time.Duration(h.recent.Swap(0))
	return stall, quantileOf(&fresh, all, 0.99, time.Duration(h.Lags.most.Load()))
}

func (h *Heartbeat) Longest() time.Duration { return time.Duration(h.worst.Load()) }
