package queueing

import (
	"math"

	"tidemark/internal/splitmix"
)

// A server runs only so many requests at once: max_num_seqs of them, or as many as its KV cache holds. A request that arrives when all
// slots are taken waits for one; it holds it from its prompt's first step to its last token. The curve has no such wait, because it
// is a mean over time and only bursts make requests wait. So the recorded arrivals are served here, first come, first served, to find
// how many wait.

// slotS is how many seconds a request of a part holds its slot when gaps tokens follow its first. With one slot there are no
// other prompts to slow it, with many nearly all are others: hence the factor 1 - 1/slots.
func (c *Curve) slotS(s State, part int, gaps float64) float64 {
	tpotS := s.StepS + (s.Flow.TPOTS-s.StepS)*(1-1/c.Slots)
	return s.FirstsS[part] - c.requestS(part) + gaps*tpotS
}

// meanSlotS is the mean of slotS over the mix.
func (c *Curve) meanSlotS(s State) float64 {
	var mean float64
	for i, part := range c.Mix.Parts {
		mean += part.Share * c.slotS(s, i, 0)
	}
	return mean + c.slotS(s, 0, s.Gaps) - c.slotS(s, 0, 0)
}

// LimitBySlots finds the rate at which all slots are always taken: rate * time in a slot = slots, by Little's law. The curve's own end
// counts only requests that decode, but a request holds its slot during its prompt too. Call it once all Points are there.
func (c *Curve) LimitBySlots() {
	last := c.Points[len(c.Points)-1]
	c.Slots, c.mostOpenPerS = math.Floor(last.Batch+1e-9), last.Open.PerS
	c.mostOpenPerS = largestRate(last.Open.PerS, func(perS float64) bool {
		return perS*c.meanSlotS(c.At(perS, true, 1)) <= c.Slots
	})
}

// largestRate is the largest rate up to limit for which does holds, by bisection: 16 halvings are 0.002 % of the limit.
func largestRate(limit float64, does func(perS float64) bool) float64 {
	low, high := 0.0, limit*(1-1e-9)
	if does(high) {
		return limit
	}
	for range 16 {
		if middle := (low + high) / 2; does(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// LargestRateWaiting is the largest rate of one replica at which at most this share of its requests waits for a slot, if all times
// are as predicted.
func (c *Curve) LargestRateWaiting(share float64) float64 {
	key := [2]float64{share, c.Replicas}
	rate, known := c.rateWaiting[key]
	if !known {
		rate = largestRate(c.mostOpenPerS, func(perS float64) bool { return c.waiting(perS) <= share })
		if c.rateWaiting == nil {
			c.rateWaiting = map[[2]float64]float64{}
		}
		c.rateWaiting[key] = rate
	}
	return rate
}

// waiting is the share of requests that find no slot free when one replica gets perS requests a second, if all times are as
// predicted. The recorded arrivals are stretched to that rate and assigned to the replicas at random.
func (c *Curve) waiting(perS float64) float64 {
	s := c.At(perS, true, 1)
	if s.IsFull {
		return 1
	}
	if len(c.Mix.Arrivals) < 2 || c.Mix.recordedPerS() <= 0 {
		return ErlangC(int(c.Slots), perS*c.meanSlotS(s))
	}
	stretch := c.Mix.recordedPerS() / (perS * c.Replicas)
	var waited, all float64
	for _, period := range c.Mix.periods() {
		dues, services := make([][]float64, int(c.Replicas)), make([][]float64, int(c.Replicas))
		for i, a := range period {
			to := int(splitmix.Mix(uint64(i)) % uint64(c.Replicas)) // random, but the same each time
			dues[to] = append(dues[to], a.DueS*stretch)
			services[to] = append(services[to], c.slotS(s, int(a.Part), float64(a.Gaps)))
		}
		for i := range dues {
			waited += Serve(dues[i], services[i], int(c.Slots)).WaitingRatio * float64(len(dues[i]))
			all += float64(len(dues[i]))
		}
	}
	return waited / all
}

// ErlangC is the share of Poisson arrivals that wait for one of so many servers (M/M/c). load is the offered load in servers, rate *
// service time. The loop is Erlang B's recursion B(c) = load B(c-1) / (c + load B(c-1)).
func ErlangC(servers int, load float64) float64 {
	if load >= float64(servers) {
		return 1
	}
	blocked := 1.0
	for busy := 1; busy <= servers; busy++ {
		blocked = load * blocked / (float64(busy) + load*blocked)
	}
	return blocked / (1 - load/float64(servers)*(1-blocked))
}

// SlotsBy names the setting that limits the slots, as the user knows it.
func (c *Curve) SlotsBy() string {
	switch last := c.Points[len(c.Points)-1].Batch; {
	case last >= c.MaxNumSeqs:
		return "max_num_seqs"
	case last >= c.Budget:
		return "max_num_batched_tokens"
	default:
		return "the KV cache"
	}
}

// WaitingRatio is the share of requests that wait for a slot under a load as At takes it.
func (c *Curve) WaitingRatio(load float64, isOpen bool, slower float64) float64 {
	switch {
	case !isOpen && load > c.Slots:
		return 1 - c.Slots/load // at least: the clients beyond the slots wait
	case !isOpen:
		return 0
	default:
		return c.waiting(load * slower)
	}
}

// requestS is the time of a request of a part in which it holds no slot, seconds.
func (c *Curve) requestS(part int) float64 {
	p := c.Mix.Parts[part]
	return c.RequestS + c.TokenS*(p.Uncached+p.Cached)
}
