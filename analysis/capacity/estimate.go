package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/metric"
	"tidemark/analysis/regression"
)

// The constants of the pooling. Before any run is seen, speeds are assumed to spread by priorSpread; this weighs as much as priorFreedom runs.
const (
	priorSpread  = 0.04 // of k from run to run, ln
	priorFreedom = 3
	leastError   = 0.01 // of the pooled k: more runs do not make the twin better than this
	noiseShare   = 0.4  // of the half width, that seeds may make
	mostTrend    = 0.15 // of k from run to run: beyond it the twin is wrong in how load slows the server
	farAway      = 0.7  // ln of multiples beyond which that is no matter
	nearness     = 0.2  // ln of multiples that count as near
)

// estimate is what the runs say so far, in ln of the multiple.
type estimate struct {
	of        []ofObjective
	binding   int
	ln        float64 // Inf and -Inf as limit.lnScale
	low, high float64
	misfit    string // why the twin does not fit; empty: it does
	runs      []*Run // that it is of
	isWarmed  bool   // the first run is left out: its speed was another
}

// ofObjective is the estimate of one objective alone.
type ofObjective struct {
	k, se, freedom float64
	speeds         []float64 // of each run
	ln, low, high  float64
	gain           float64 // -d ln m / d k
	noise          float64 // half width that the seeds of the curve alone make
}

// half is the half width of the interval, ln.
func (e *estimate) half() float64 { return (e.high - e.low) / 2 }

// estimate pools the runs to a limit for each objective; the smallest is the answer.
func (c *calibrated) estimate(runs []*Run) (*estimate, error) {
	e := &estimate{of: make([]ofObjective, len(c.q.Objectives)), ln: math.Inf(1), low: math.Inf(1), high: math.Inf(1), runs: runs}
	last := math.Log(runs[len(runs)-1].Scale)
	for j, o := range c.q.Objectives {
		if o.Metric == metric.FailureRatio {
			continue
		}
		e.of[j].speeds = make([]float64, len(runs))
		for i, r := range runs {
			e.of[j].speeds[i] = c.speed(r, j)
		}
		e.of[j].pool(runs, last)
	}
	isFirst := true
	for _, j := range c.byExcess(e, last) {
		of := &e.of[j]
		if !isFirst && c.isFar(of, j, e.high) {
			of.ln, of.low, of.high = math.Inf(1), math.Inf(1), math.Inf(1)
			continue
		}
		near := last
		for range 3 { // which runs are near depends on the answer
			of.pool(runs, near)
			c.limitOf(of, j, near)
			if math.IsInf(of.ln, 0) {
				break
			}
			near = of.ln
		}
		for len(runs) > 1 && of.noise > noiseShare*(of.high-of.low)/2 && c.curve.deepen(j, int(math.Round(of.k/speedStep))) {
			c.limitOf(of, j, near)
		}
		if of.ln < e.ln || isFirst {
			e.ln, e.binding = of.ln, j
		}
		e.low, e.high = min(e.low, of.low), min(e.high, of.high)
		isFirst = false
	}
	if err := c.curve.err; err != nil {
		return nil, err
	}
	if c.err != nil {
		return nil, c.err
	}
	e.misfit = c.misfit(e)
	return e, nil
}

// byExcess lists the latency objectives, the one first that the twin misses most at a multiple.
func (c *calibrated) byExcess(e *estimate, ln float64) []int {
	excess := make([]float64, len(e.of))
	var order []int
	for j, o := range c.q.Objectives {
		if o.Metric != metric.FailureRatio {
			excess[j] = c.excessAt(&e.of[j], j, ln, 0)
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(excess[b], excess[a]) })
	return order
}

// isFar says that an objective does not bind: a slower twin holds it at a higher multiple than the answer's.
func (c *calibrated) isFar(of *ofObjective, j int, high float64) bool {
	return !math.IsInf(high, 0) && c.excessAt(of, j, high+curveStep, 1) < 0
}

// excessAt is that at the point of the curve that is nearest, a number of speed steps slower.
func (c *calibrated) excessAt(of *ofObjective, j int, ln float64, slower int) float64 {
	return c.curve.at(place{int(math.Round(ln / curveStep)), int(math.Round(of.k/speedStep)) + slower})[j].excess
}

// pool weighs the runs: from the third one on, those near the answer count.
func (of *ofObjective) pool(runs []*Run, near float64) {
	var sum, squares, most, mean float64
	weights := make([]float64, len(runs))
	for i, r := range runs {
		if math.IsNaN(of.speeds[i]) {
			continue
		}
		weights[i] = 1
		if len(runs) > 2 {
			far := (math.Log(r.Scale) - near) / nearness
			weights[i] = math.Exp(-far*far) + 1e-3
		}
		sum, squares, most = sum+weights[i], squares+weights[i]*weights[i], max(most, weights[i])
		mean += weights[i] * of.speeds[i]
	}
	n, spread := 0.0, priorFreedom*priorSpread*priorSpread
	if sum > 0 {
		mean, n = mean/sum, sum*sum/squares
		for i := range runs {
			if weights[i] > 0 {
				spread += weights[i] * (of.speeds[i] - mean) * (of.speeds[i] - mean) / most
			}
		}
	}
	of.freedom = max(priorFreedom+n-1, 1)
	of.k, of.se = mean, math.Sqrt(spread/of.freedom/max(n, 0.5)+leastError*leastError)
}

// limitOf reads the limit of an objective and its interval off the curve.
func (c *calibrated) limitOf(of *ofObjective, j int, guess float64) {
	node := int(math.Round(of.k / speedStep))
	var at [3]limit
	for i, offset := range []int{0, 1, -1} {
		if i > 0 && !math.IsInf(at[0].lnScale, 0) {
			guess = at[0].lnScale - float64(offset)*speedStep
		}
		at[i] = c.curve.limit(j, node+offset, guess)
	}
	middle, slower, faster := at[0].lnScale, at[1].lnScale, at[2].lnScale
	isFinite := func(x float64) bool { return !math.IsInf(x, 0) }
	switch {
	case isFinite(slower) && isFinite(faster):
		of.gain = (faster - slower) / (2 * speedStep)
	case isFinite(slower) && isFinite(middle):
		of.gain = (middle - slower) / speedStep
	case isFinite(faster) && isFinite(middle):
		of.gain = (faster - middle) / speedStep
	}
	of.gain = max(of.gain, 0.3)
	of.ln = middle - of.gain*(of.k-float64(node)*speedStep)
	half := math.Hypot(regression.StudentT95(of.freedom)*of.se*of.gain, twoSided*at[0].noise)
	of.noise = twoSided * at[0].noise
	of.low, of.high = of.ln-half, of.ln+half
	if !isFinite(middle) { // one end may be inside although the middle is not, where the speed is that uncertain
		width := regression.StudentT95(of.freedom) * of.se
		of.low, of.high = middle, middle
		if int(math.Round((of.k+width)/speedStep)) > node {
			of.low = min(slower, middle)
		}
		if int(math.Round((of.k-width)/speedStep)) < node {
			of.high = max(faster, middle)
		}
	}
}

// misfit compares the speeds of the runs with each other: one that changes with the load says that the misses grow otherwise than the
// twin's. It also compares the misses of the twin with those measured, over all runs but the first. By twice as many, or by half, it does not fit,
// unless they are of an objective that does not bind and allows twice as many as either: the limit does not depend on them.
func (c *calibrated) misfit(e *estimate) string {
	if len(e.runs) < 2 {
		return ""
	}
	for i, r := range e.runs {
		if why := c.misfitOf(e, r, e.of[e.binding].speeds[i]); why != "" {
			return why
		}
	}
	for j, o := range c.q.Objectives {
		if !o.isShare() {
			continue
		}
		measured, played, allowed := 2.0, 2.0, 0.0
		for _, r := range e.runs {
			if r.Number > 1 {
				measured += float64(r.reading.tallies[j].misses)
				played += float64(c.misses(r, j, e.of[j].k))
				allowed += o.allowed() * float64(r.reading.tallies[j].n)
			}
		}
		if j != e.binding && max(measured, played)-2 < allowed/2 {
			continue
		}
		if math.Abs(math.Log(measured/played)) > math.Ln2 {
			return fmt.Sprintf("%s: %.0f misses in runs near the limit, where the model has %.0f", o, measured-2, played-2)
		}
	}
	return ""
}

// misfitOf looks at one run: its speed, and misses of the binding objective that are four times as many as the twin's, or a quarter, also at a
// speed that is off by two of its usual deviations from run to run: near a steep limit that alone turns few misses into many.
func (c *calibrated) misfitOf(e *estimate, r *Run, speed float64) string {
	o, k := c.q.Objectives[e.binding], e.of[e.binding].k
	if math.Abs(math.Log(r.Scale)-e.ln) > farAway {
		return ""
	}
	if math.Abs(speed-k) > mostTrend {
		return fmt.Sprintf("%s: in run %d, at %.3g, the server is %+.0f %% slower, beside the model, than at the limit", o, r.Number, r.Scale, 100*(speed-k))
	}
	measured, expected := r.reading.tallies[e.binding].misses, c.misses(r, e.binding, k)
	usual := math.Copysign(2*priorSpread, float64(measured-expected))
	if o.isShare() && isFourfold(measured, expected) && isFourfold(measured, c.misses(r, e.binding, k+usual)) {
		return fmt.Sprintf("%s: %d misses in run %d, at %.3g, where the model has %d", o, measured, r.Number, r.Scale, expected)
	}
	return ""
}

// isFourfold says that one number of misses is four times the other, chance aside.
func isFourfold(a, b int) bool { return math.Abs(math.Log(float64(a+2)/float64(b+2))) > math.Log(4) }

// misses are the twin's on a run's arrivals, at a speed.
func (c *calibrated) misses(r *Run, objective int, k float64) int {
	return c.at(r, int(math.Round(k*kGrid/4)*4)).tallies[objective].misses
}
