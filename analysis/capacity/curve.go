package capacity

import (
	"cmp"
	"math"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/replay/schedule"
)

// How finely the curve is known: points lie curveStep apart in ln of the multiple, and speedStep in ln of the speed.
const (
	curveStep = 0.05
	speedStep = 0.08
	// curveRequests are played at each point, all seeds together: 16 seeds of a short window were too few.
	curveRequests = 30_000
	// A point needs two seeds to tell what a seed matters, and more than mostSeeds tell nothing new.
	leastSeeds, mostSeeds = 2, 300
	mostDeep              = 9 // times as many requests, where the seeds' noise makes the interval wide
)

// curve is the share of misses of a twin over the whole window, by multiple and speed. Points are played when they are asked for.
type curve struct {
	twin     *twin
	plans    *plans
	shift    Shift
	requests int // played at a point
	apart    int // steps between the points that a share is read off; 1 for a search
	noise    engine.Noise
	points   map[place]*sampled
	limits   map[limitKey]limit
	binds    float64 // ln of the smallest limit known so far; Inf: none is
	err      error
}

// farAbove the limit that binds, as a difference of ln, no other objective's limit is looked for: some hold at any load, and an overload
// takes minutes to play.
const farAbove = 0.7

// look finds the limit that binds roughly, from all objectives at once and from a quarter of the requests.
func (c *curve) look(guess float64) {
	q, requests := c.twin.q, c.requests
	c.requests = max(c.requests/4, 1)
	defer func() { c.requests = requests }()
	least, most := int(math.Floor(math.Log(q.MinScale)/curveStep)), int(math.Ceil(math.Log(q.MaxScale)/curveStep))
	n := max(least, min(most, int(math.Round(guess/curveStep))))
	if _, high := c.bracket(c.worst, n, least, most, 2, 0); high <= most {
		c.binds = float64(max(high, least)) * curveStep
	}
}

// canBind says whether an objective is missed where the limit that binds was found roughly: one that is not has its own limit above that. Where
// all requests, and not a quarter of them, show none to be missed, each may be the one.
func (c *curve) canBind(objective int) bool {
	if math.IsInf(c.binds, 0) {
		return true
	}
	n := int(math.Round(c.binds / curveStep))
	return c.worst(n) <= 0 || c.at(place{n, 0})[objective].excess > 0
}

// worst is the largest excess of all objectives at a multiple.
func (c *curve) worst(n int) float64 {
	worst := math.Inf(-1)
	for j, o := range c.twin.q.Objectives {
		if o.Metric != metric.FailureRatio {
			worst = max(worst, c.at(place{n, 0})[j].excess)
		}
	}
	return worst
}

type place struct{ scale, speed int } // of curveStep and speedStep

type limitKey struct{ objective, speed int }

// sampled is a point with the seeds that were played.
type sampled struct {
	requests int // that were asked for
	played   int
	seeds    [][]tally
	points   []point // of each objective
}

// point is what one objective reads off all seeds.
type point struct {
	pooled
	excess float64 // see Objective.excess
	noise  float64 // standard error of excess, by the seeds
}

// limit is the multiple at which an objective's misses reach what is allowed.
type limit struct {
	lnScale float64 // -Inf: below the smallest multiple; Inf: above the largest
	slope   float64 // of the excess over ln of the multiple
	noise   float64 // standard error of lnScale from the seeds
}

func newCurve(t *twin, p *plans, shift Shift, requests int) *curve {
	for _, o := range t.q.Objectives {
		if o.Metric == metric.ITL { // a request has hundreds of gaps
			requests /= 10
			break
		}
	}
	return &curve{twin: t, plans: p, shift: shift, requests: requests, apart: 1, noise: engine.Noise{StepSD: 0.05}, points: map[place]*sampled{}, limits: map[limitKey]limit{}, binds: math.Inf(1)}
}

// at plays a point, or more seeds of it where more requests are asked for than before.
func (c *curve) at(p place) []point {
	sample, isThere := c.points[p]
	if !isThere {
		sample = &sampled{}
		c.points[p] = sample
	}
	if sample.requests >= c.requests {
		return sample.points
	}
	shift := c.shift
	shift.All += float64(p.speed) * speedStep
	if err := c.play(sample, c.scaleAt(p.scale), shift); err != nil {
		c.err = cmp.Or(c.err, err)
		sample.points = make([]point, len(c.twin.q.Objectives))
	}
	return sample.points
}

// deepen plays more seeds from now on: of the points at one speed that an objective's limit was read off. It is false where the seeds
// are as many as are worth their time.
func (c *curve) deepen(objective, speed int) bool {
	if c.requests >= mostDeep*c.twin.q.curveRequests {
		return false
	}
	c.requests *= 3
	delete(c.limits, limitKey{objective, speed})
	return true
}

func (c *curve) scaleAt(n int) float64 {
	scale := math.Exp(float64(n) * curveStep)
	if c.twin.q.Mode == schedule.Closed {
		return math.Round(scale)
	}
	return scale
}

// play plays the window from further seeds at a multiple.
func (c *curve) play(sample *sampled, scale float64, shift Shift) error {
	q := c.twin.q
	most := leastSeeds + mostSeeds*c.requests/q.curveRequests
	for len(sample.seeds) < leastSeeds || sample.played < c.requests && len(sample.seeds) < most {
		seed := q.curveSeed(len(sample.seeds))
		requests, err := c.plans.whole(scale, seed)
		if err != nil {
			return err
		}
		noise := c.noise
		noise.Seed = seed
		replies, err := c.twin.play(requests, scale, shift, noise)
		if err != nil {
			return err
		}
		sample.seeds = append(sample.seeds, q.read(requests, replies, 0).tallies)
		sample.played += len(requests)
	}
	sample.requests = c.requests
	sample.points = make([]point, len(q.Objectives))
	for i, o := range q.Objectives {
		sample.points[i] = o.point(sample.seeds, i)
	}
	return nil
}

// point pools the seeds of an objective. Its noise leaves out one seed after another (a jackknife).
func (o Objective) point(seeds [][]tally, i int) point {
	var all pooled
	for _, s := range seeds {
		all.n, all.misses, all.sum = all.n+float64(s[i].n), all.misses+float64(s[i].misses), all.sum+s[i].sum
	}
	p := point{pooled: all, excess: o.excess(all)}
	var without []float64
	mean := 0.0
	for _, s := range seeds {
		e := o.excess(pooled{all.n - float64(s[i].n), all.misses - float64(s[i].misses), all.sum - s[i].sum})
		without = append(without, e)
		mean += e / float64(len(seeds))
	}
	for _, e := range without {
		p.noise += (e - mean) * (e - mean) * float64(len(seeds)-1) / float64(len(seeds))
	}
	p.noise = math.Sqrt(p.noise)
	return p
}

// limit finds where an objective's excess is 0, from a first guess on.
func (c *curve) limit(objective, speed int, guess float64) limit {
	key := limitKey{objective, speed}
	if got, isThere := c.limits[key]; isThere {
		return got
	}
	q := c.twin.q
	least, most := int(math.Floor(math.Log(q.MinScale)/curveStep)), int(math.Ceil(math.Log(q.MaxScale)/curveStep))+4
	if beyond := c.binds + farAbove; !math.IsInf(beyond, 0) && beyond < float64(most)*curveStep {
		most = max(least, int(math.Ceil(beyond/curveStep)))
	}
	excess := func(n int) float64 { return c.at(place{n, speed})[objective].excess }
	n := most
	if !math.IsInf(guess, 1) {
		n = max(least, min(most, int(math.Round(max(guess, float64(least)*curveStep)/curveStep))))
	}
	low, high := c.bracket(excess, n, least, most, 1, 0)
	got := c.between(objective, speed, low, high, least, most)
	c.limits[key] = got
	return got
}

// bracket finds two places at most so far apart with an excess of at most 0 at low and above it at high: steps away from the first place
// until the limit lies between two, then the line between these and halving in turn. low is below least where none holds, high above most
// where all do. far is the step where the excess is infinite, which tells no slope.
func (c *curve) bracket(excess func(int) float64, n, least, most, apart, far int) (low, high int) {
	const usualSlope = 15 // of the excess over ln of the multiple
	inside := func(n int) int { return max(least, min(most, n)) }
	low, high = least-1, most+1
	for stride := 1; c.err == nil && low < most && high > least && (low < least || high > most); stride *= 2 {
		e := excess(n)
		step := max(stride, far)
		if !math.IsInf(e, 0) {
			step = max(stride, int(min(40, math.Abs(e)/usualSlope/curveStep)))
		}
		if e <= 0 {
			low = n
			n = inside(n + step)
		} else {
			high = n
			n = inside(n - step)
		}
	}
	for round := 0; c.err == nil && low >= least && high <= most && high-low > apart; round++ {
		n = (low + high) / 2
		if a, b := excess(low), excess(high); round%2 == 0 && !math.IsInf(a, 0) {
			n = max(low+1, min(high-1, low+int(math.Round(float64(high-low)*-a/(b-a)))))
		}
		if excess(n) <= 0 {
			low = n
		} else {
			high = n
		}
	}
	return low, high
}

// between interpolates the limit in a bracket of two neighbours. The slope is that over a wider bracket, because neighbours share most of
// their noise but not all.
func (c *curve) between(objective, speed, low, high, least, most int) limit {
	switch {
	case low < least:
		return limit{lnScale: math.Inf(-1)}
	case high > most:
		return limit{lnScale: math.Inf(1)}
	}
	a, b := c.at(place{low, speed})[objective], c.at(place{high, speed})[objective]
	l := limit{lnScale: (float64(low) + -a.excess/(b.excess-a.excess)) * curveStep}
	l.slope = max((b.excess-a.excess)/curveStep, 0.5)
	if math.IsInf(a.excess, 0) {
		l.lnScale = float64(low) * curveStep
	}
	l.noise = (a.noise + b.noise) / 2 / l.slope
	if math.IsNaN(l.noise) || math.IsInf(l.noise, 0) {
		l.noise = curveStep
	}
	return l
}
