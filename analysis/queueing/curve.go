package queueing

import (
	"math"
	"sort"
)

// Curve is what a mix of requests does to one replica of a deployment at each batch, as macros.mix_curve says it.
type Curve struct {
	Mix    Mix
	Points []Point // the batch grows, and with it rates and clients

	Burst      float64 // squared coefficient of variation of the gaps between arrivals at one replica, less 1; 0: Poisson
	Budget     float64 // max_num_batched_tokens: tokens of a step at most
	Replicas   float64 // servers that share the arrivals
	Slots      float64 // requests that one replica runs at once
	MaxNumSeqs float64 // the engine's limit, which may be above Slots
	RequestS   float64 // seconds of a request before and after its steps, in which it holds no slot
	TokenS     float64 // the same for each token of its prompt

	mostOpenPerS float64                // the largest rate at which slots and steps suffice
	rateWaiting  map[[2]float64]float64 // results of LargestRateWaiting, by share and replicas: each takes thousands of events
}

// Point is one batch of a Curve. Names that end in S are seconds.
type Point struct {
	Batch    float64 // requests that decode at once
	FloorS   float64 // a step's bytes over peak bandwidth
	StepS    float64 // a step without prompts
	PromptS  float64 // mean time that a prompt adds to the steps it rides in
	Gaps     float64 // mean tokens of an answer after its first
	ScatterS float64 // scatter of a request's own TPOT, as macros.mix_curve defines scatter_s
	Clients  float64 // of a closed loop that keep this batch running

	Open, Closed Flow
	PromptsS     []float64 // PromptS of each of Mix.Parts
	FirstsS      []float64 // time from the start of the prompt's work to its first token, of each of Mix.Parts
}

// Flow is what an open or a closed loop makes of a batch.
type Flow struct {
	PerS   float64 // requests a second
	TPOTS  float64 // mean time per output token
	WaitS  float64 // mean wait of a prompt for other prompts, for Poisson arrivals
	BurstS float64 // what WaitS grows by for each unit of Curve.Burst (Kingman)
}

// State is one replica under a load.
type State struct {
	Point
	Flow    Flow
	PerS    float64 // requests that are served
	WaitS   float64 // wait for a slot, the same for every request; comes on top of Flow.WaitS
	IsFull  bool    // all slots are taken: an open loop's queue grows for ever, a closed loop's clients wait
	prompts float64 // share of the time that prompts take
	others  float64 // share of the prompts that are others': a stream never waits for its own
}

// At is a replica under an open loop of load requests a second, or under load clients, if all its times were longer by the
// factor slower: the ends of a prediction's band are asked for this way.
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
		if share := wanted / measure(s.Point); isOpen { // below the first point requests hardly meet, so waits fall with the rate
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
		if s.IsFull { // Little's law: clients without a slot wait, and by then have waited for prompts too
			s.WaitS = s.Gaps * s.Flow.TPOTS * (load/s.Batch - 1)
			s.Flow.WaitS = 0
		}
	} else if s.IsFull {
		s.WaitS = math.Inf(1)
	}
	s.Flow.WaitS += c.Burst * s.Flow.BurstS
	s.stretch(slower)
	if !isOpen && !s.IsFull { // Little's law: each client sends again when it is served
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

// between interpolates from one point of a curve to the next. Neighbouring batches differ by a seventh, so a line will do.
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

// MostPerS is the largest rate of an open loop that one replica can serve for ever, if all times were longer by a factor.
func (c *Curve) MostPerS(slower float64) float64 {
	return c.mostOpenPerS / slower
}
