// Traces with a coarse clock (whole seconds, say) have bursts that are the clock's and not the users': hundreds of requests
// in one instant, then none. Spreading draws each request's time evenly within its tick, which keeps the counts per tick and
// the order.

package plan

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"tidemark/internal/splitmix"
)

// spread gives each request of a trace whose clock counts in ticks a time of its own within its tick: seeded, evenly
// drawn, in the order that they came in. Times that lie less than half a tick behind a tick's first are of that tick,
// and nothing is moved past the tick that follows. It holds the requests of one tick in memory.
func (d *draft) spread(source iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		var tick []Request
		for req, err := range source {
			if err != nil {
				yield(req, err)
				return
			}
			if len(tick) > 0 {
				switch since := req.Due - tick[0].Due; {
				case since < 0:
					yield(req, fmt.Errorf("request %d is due %v, before %v of the one ahead of it", req.Seq, req.Due, tick[0].Due))
					return
				case since >= d.choices.SpreadTicks/2:
					if !d.yieldSpread(tick, min(since, d.choices.SpreadTicks), yield) {
						return
					}
					tick = tick[:0]
				}
			}
			tick = append(tick, req)
		}
		d.yieldSpread(tick, d.choices.SpreadTicks, yield)
	}
}

// yieldSpread puts the requests of a tick into the time from its first one on.
func (d *draft) yieldSpread(tick []Request, width time.Duration, yield func(Request, error) bool) bool {
	drawn := make([]float64, len(tick))
	for i, req := range tick {
		drawn[i] = uniform(d.choices.Seed, "spread", splitmix.Mix(uint64(req.Seq)), 0)
	}
	slices.Sort(drawn)
	begin := time.Duration(0)
	if len(tick) > 0 {
		begin = tick[0].Due
	}
	for i, req := range tick {
		req.Due = begin + time.Duration(drawn[i]*float64(width))
		if !yield(req, nil) {
			return false
		}
	}
	return true
}
