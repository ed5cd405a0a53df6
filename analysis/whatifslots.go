//go:build duckdb_arrow

package analysis

import (
	"math"
	"slices"
)

// A server takes so many requests at once: max_num_seqs of them, or as many as its KV cache holds. Who comes when all
// slots are taken waits for one, from a prompt's first step to the last token of another's answer. The curve of a mix has
// no such wait: it is a mean over time, and what makes requests wait is a burst. So the recorded arrivals are
// served here, first come, first served, to find how many wait. How long they wait is not predicted: an answer takes
// longer in a burst than the mean says.

// mostCalmWaiting is the share of requests that may wait for a slot before waits say something about a p99.
const mostCalmWaiting = 0.01

// slotS is how long a request of a part with so many tokens after its first holds its slot: nobody shares a batch with
// itself, so a lone slot sees no prompt of others.
func (c *mixCurve) slotS(s mixState, part int, gaps float64) float64 {
	tpotS := s.stepS + (s.flow.tpotS-s.stepS)*(1-1/c.slots)
	return s.firstsS[part] - c.requestS + gaps*tpotS
}

func (c *mixCurve) meanSlotS(s mixState) float64 {
	var mean float64
	for i, part := range c.mix.Parts {
		mean += part.Share * c.slotS(s, i, 0)
	}
	return mean + c.slotS(s, 0, s.gaps) - c.slotS(s, 0, 0)
}

// limitBySlots finds the rate at which all slots are always taken. The curve's own end counts those that decode, but a
// prompt holds a slot too.
func (c *mixCurve) limitBySlots() {
	last := c.points[len(c.points)-1]
	c.slots, c.mostOpenPerS = math.Floor(last.batch+1e-9), last.open.perS
	c.mostOpenPerS = largestRate(last.open.perS, func(perS float64) bool {
		return perS*c.meanSlotS(c.at(perS, true, 1)) <= c.slots
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

// calmPerS is the largest rate of one of so many replicas at which at most this share of requests waits for a slot,
// were all times as predicted.
func (c *mixCurve) calmPerS(share float64) float64 {
	key := [2]float64{share, c.replicas}
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

// calmestPerS is that rate for the objectives of an SLO that a wait for a slot says something about.
func (c *mixCurve) calmestPerS(slo SLO) float64 {
	calm := math.Inf(1)
	for _, o := range slo.Objectives {
		if o.isWaitedFor() {
			calm = min(calm, c.calmPerS(o.mostWaiting()))
		}
	}
	return calm
}

// waiting is the share of requests that find no slot free at so many a second of one replica, were all times as
// predicted: of the recorded arrivals, played at that rate and shared out to the replicas by chance.
func (c *mixCurve) waiting(perS float64) float64 {
	s := c.at(perS, true, 1)
	if s.isFull {
		return 1
	}
	if len(c.mix.arrivals) < 2 || c.mix.recordedPerS() <= 0 {
		return erlangC(int(c.slots), perS*c.meanSlotS(s))
	}
	stretch := c.mix.recordedPerS() / (perS * c.replicas)
	var waited, all float64
	for _, stretchOfTime := range c.mix.stretchesOfTime() {
		dues, services := make([][]float64, int(c.replicas)), make([][]float64, int(c.replicas))
		for i, a := range stretchOfTime {
			to := byChance(i, int(c.replicas))
			dues[to] = append(dues[to], a.dueS*stretch)
			services[to] = append(services[to], c.slotS(s, int(a.part), float64(a.gaps)))
		}
		for i := range dues {
			waited += Serve(dues[i], services[i], int(c.slots)).WaitingRatio * float64(len(dues[i]))
			all += float64(len(dues[i]))
		}
	}
	return waited / all
}

// arrival is one request as it came.
type arrival struct {
	dueS float64
	part int32 // of Mix.Parts
	gaps float32
}

// recordedPerS is the rate of the arrivals; 0: all came at once.
func (m Mix) recordedPerS() float64 {
	last := len(m.arrivals) - 1
	if length := m.arrivals[last].dueS - m.arrivals[0].dueS; length > 0 {
		return float64(last) / length
	}
	return 0
}

// stretchesOfTime are the arrivals, or of very many ten parts, evenly spread.
func (m Mix) stretchesOfTime() [][]arrival {
	const parts, longest = 10, 5000
	if len(m.arrivals) <= parts*longest {
		return [][]arrival{m.arrivals}
	}
	var all [][]arrival
	for i := range parts {
		from := i * (len(m.arrivals) - longest) / (parts - 1)
		all = append(all, m.arrivals[from:from+longest])
	}
	return all
}

// byChance shares out the i-th of something, always in the same way.
func byChance(i, among int) int {
	x := uint64(i) + 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(among))
}

// erlangC is the share of Poisson arrivals that wait for one of so many servers, with the load in servers.
func erlangC(servers int, load float64) float64 {
	if load >= float64(servers) {
		return 1
	}
	blocked := 1.0
	for busy := 1; busy <= servers; busy++ {
		blocked = load * blocked / (float64(busy) + load*blocked)
	}
	return blocked / (1 - load/float64(servers)*(1-blocked))
}

// slotsBy is the limit that a user can look up.
func (c *mixCurve) slotsBy() string {
	switch last := c.points[len(c.points)-1].batch; {
	case last >= c.maxNumSeqs:
		return "max_num_seqs"
	case last >= c.budget:
		return "max_num_batched_tokens"
	default:
		return "the KV cache"
	}
}

// slotWait is the share of a state's requests that wait for a slot.
func (c *mixCurve) slotWait(load float64, isOpen bool, slower float64) float64 {
	switch {
	case !isOpen && load > c.slots:
		return 1 - c.slots/load // at least: each waits whose turn it is not
	case !isOpen:
		return 0
	default:
		return c.waiting(load * slower)
	}
}

// isWaitedFor says whether an objective is about a time in which a request may wait for a slot.
func (o Objective) isWaitedFor() bool {
	return slices.Contains([]string{"ttft", "ttft_from_due", "e2e", "e2e_from_due"}, o.Metric)
}

// mostWaiting is the share that may wait for a slot without saying anything about the objective.
func (o Objective) mostWaiting() float64 { return min(mostCalmWaiting, 1-o.Percentile/100) }
