package queueing

import (
	"math"
	"sort"
)

// Curve is what a mix of requests does to one replica of a deployment at each batch, as macros.mix_curve says it.
type Curve struct {
	Mix    Mix
	Points []Point // the batch grows, and with it rates and clients

	Burst      float64 // the squared cv of the gaps at one replica, less 1
	Budget     float64 // tokens of a step
	Replicas   float64 // that share the arrivals
	Slots      float64 // requests that one replica takes at once
	MaxNumSeqs float64
	RequestS   float64 // of a request before and after its steps, in which it holds no slot

	mostOpenPerS float64 // the largest rate at which slots and steps suffice
	calm         map[[2]float64]float64
}

// Point is one batch of a Curve.
type Point struct {
	Batch, FloorS, StepS, PromptS, Gaps, ScatterS float64
	Open, Closed                                  Flow
	Clients                                       float64 // of a closed loop
	PromptsS, FirstsS                             []float64
}

// Flow is what an open or a closed loop makes of a batch.
type Flow struct {
	PerS, TPOTS, WaitS float64
	BurstS             float64 // what a wait grows by for each unit by which the squared cv of the gaps is above 1
}

// State is one replica under a load.
type State struct {
	Point
	Flow    Flow
	PerS    float64 // requests that are served
	WaitS   float64 // of all, before a prompt's work begins, beyond the scatter of prompts: for a place
	IsFull  bool
	prompts float64 // share of the time that prompts take
	others  float64 // share of the prompts that are others': a stream never waits for its own
}

// At is a replica under an open loop of so many requests a second, or under so many clients, were all its times longer by
// a factor.
func (c *Curve) At(load float64, isOpen bool, slower float64) State {
	wanted := load
	measure := func(p Point) float64 { return p.Clients }
	if isOpen {
		// What takes twice as long is the same thing at half the rate.
		wanted = load * slower
		measure = func(p Point) float64 { return p.Open.PerS }
	}
	isBeyondSlots := isOpen && wanted > c.mostOpenPerS
	if isBeyondSlots {
		wanted = c.mostOpenPerS
	}
	last := len(c.Points) - 1
	i := sort.Search(len(c.Points), func(i int) bool { return measure(c.Points[i]) > wanted })
	s := State{others: 1}
	switch {
	case i == 0:
		s.Point = c.Points[0]
		if share := wanted / measure(s.Point); isOpen { // fewer still: nearly nobody is met
			s.Batch, s.Open.PerS = s.Batch*share, wanted
			s.Open.WaitS, s.Open.BurstS = s.Open.WaitS*share, s.Open.BurstS*share
		}
	case i > last:
		s.Point, s.IsFull = c.Points[last], true
	default:
		from, to := c.Points[i-1], c.Points[i]
		s.Point = between(from, to, math.Log(wanted/measure(from))/math.Log(measure(to)/measure(from)))
		if isOpen {
			s.Open.PerS = wanted
		}
	}
	s.IsFull = s.IsFull || isBeyondSlots
	s.Flow = s.Open
	if !isOpen {
		s.Flow, s.others = s.Closed, 1-1/max(1, load)
		if s.IsFull { // who waits for a place, by Little's law, has waited for all else
			s.WaitS = s.Gaps * s.Flow.TPOTS * (load/s.Batch - 1)
			s.Flow.WaitS = 0
		}
	} else if s.IsFull {
		s.WaitS = math.Inf(1)
	}
	s.Flow.WaitS += c.Burst * s.Flow.BurstS
	s.stretch(slower)
	if !isOpen && !s.IsFull { // each client sends again when it is served
		s.PerS = load / (c.MeanTTFT(s) + s.Gaps*s.Flow.TPOTS)
	}
	return s
}

// stretch makes all times longer by a factor.
func (s *State) stretch(slower float64) {
	s.prompts = s.Flow.PerS * s.PromptS
	s.PerS = s.Flow.PerS / slower
	s.StepS *= slower
	s.Flow.TPOTS *= slower
	s.Flow.WaitS *= slower
	s.WaitS *= slower
	s.ScatterS *= slower
	s.PromptsS, s.FirstsS = times(s.PromptsS, slower), times(s.FirstsS, slower)
}

func times(values []float64, factor float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = v * factor
	}
	return all
}

// between is on the way from one point of a curve to the next: neighbours differ by a seventh.
func between(from, to Point, share float64) Point {
	mean := func(a, b float64) float64 { return a + share*(b-a) }
	flow := func(a, b Flow) Flow {
		return Flow{mean(a.PerS, b.PerS), mean(a.TPOTS, b.TPOTS), mean(a.WaitS, b.WaitS), mean(a.BurstS, b.BurstS)}
	}
	p := Point{
		Batch: from.Batch * math.Pow(to.Batch/from.Batch, share), FloorS: mean(from.FloorS, to.FloorS), StepS: mean(from.StepS, to.StepS),
		PromptS: mean(from.PromptS, to.PromptS), Gaps: from.Gaps, ScatterS: mean(from.ScatterS, to.ScatterS), Clients: mean(from.Clients, to.Clients),
		Open: flow(from.Open, to.Open), Closed: flow(from.Closed, to.Closed),
		PromptsS: make([]float64, len(from.PromptsS)), FirstsS: make([]float64, len(from.FirstsS)),
	}
	for i := range p.PromptsS {
		p.PromptsS[i], p.FirstsS[i] = mean(from.PromptsS[i], to.PromptsS[i]), mean(from.FirstsS[i], to.FirstsS[i])
	}
	return p
}

// MostPerS is the largest rate of an open loop that one replica can be kept at.
func (c *Curve) MostPerS(slower float64) float64 {
	return c.mostOpenPerS / slower
}
