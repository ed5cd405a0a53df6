package queueing

import (
	"math"
)

// A server takes so many requests at once: max_num_seqs of them, or as many as its KV cache holds. Who comes when all
// slots are taken waits for one, from a prompt's first step to the last token of another's answer. The curve of a mix has
// no such wait: it is a mean over time, and what makes requests wait is a burst. So the recorded arrivals are
// served here, first come, first served, to find how many wait. How long they wait is not predicted: an answer takes
// longer in a burst than the mean says.

// slotS is how long a request of a part with so many tokens after its first holds its slot: nobody shares a batch with
// itself, so a lone slot sees no prompt of others.
func (c *Curve) slotS(s State, part int, gaps float64) float64 {
	tpotS := s.StepS + (s.Flow.TPOTS-s.StepS)*(1-1/c.Slots)
	return s.FirstsS[part] - c.RequestS + gaps*tpotS
}

func (c *Curve) meanSlotS(s State) float64 {
	var mean float64
	for i, part := range c.Mix.Parts {
		mean += part.Share * c.slotS(s, i, 0)
	}
	return mean + c.slotS(s, 0, s.Gaps) - c.slotS(s, 0, 0)
}

// LimitBySlots finds the rate at which all slots are always taken. The curve's own end counts those that decode, but a
// prompt holds a slot too.
func (c *Curve) LimitBySlots() {
	last := c.Points[len(c.Points)-1]
	c.Slots, c.mostOpenPerS = math.Floor(last.Batch+1e-9), last.Open.PerS
	c.mostOpenPerS = largestRate(last.Open.PerS, func(perS float64) bool {
		return perS*c.meanSlotS(c.At(perS, true, 1)) <= c.Slots
	})
}

// largestRate up to a limit that does; what does not at a rate does not above it.
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

// LargestRateWaiting is the largest rate of one of so many replicas at which at most this share of requests waits for a slot,
// were all times as predicted.
func (c *Curve) LargestRateWaiting(share float64) float64 {
	key := [2]float64{share, c.Replicas}
	calm, known := c.calm[key]
	if !known {
		calm = largestRate(c.mostOpenPerS, func(perS float64) bool { return c.waiting(perS) <= share })
		if c.calm == nil {
			c.calm = map[[2]float64]float64{}
		}
		c.calm[key] = calm
	}
	return calm
}

// waiting is the share of requests that find no slot free at so many a second of one replica, were all times as
// predicted: of the recorded arrivals, played at that rate and shared out to the replicas by chance.
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
	for _, stretchOfTime := range c.Mix.stretchesOfTime() {
		dues, services := make([][]float64, int(c.Replicas)), make([][]float64, int(c.Replicas))
		for i, a := range stretchOfTime {
			to := byChance(i, int(c.Replicas))
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

// byChance shares out the i-th of something, always in the same way.
func byChance(i, among int) int {
	x := uint64(i) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(among))
}

// ErlangC is the share of Poisson arrivals that wait for one of so many servers, with the load in servers.
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

// SlotsBy is the limit that a user can look up.
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

// WaitingRatio is the share of a state's requests that wait for a slot.
func (c *Curve) WaitingRatio(load float64, isOpen bool, slower float64) float64 {
	switch {
	case !isOpen && load > c.Slots:
		return 1 - c.Slots/load // at least: each waits whose turn it is not
	case !isOpen:
		return 0
	default:
		return c.waiting(load * slower)
	}
}
