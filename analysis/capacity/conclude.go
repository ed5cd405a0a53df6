package capacity

import (
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/metric"
	"tidemark/analysis/regression"
	"tidemark/internal/engine"
	"tidemark/replay/schedule"
)

// estimate is that of the best twin. Its interval holds those of all rivals.
func (s *search) estimate(runs []*Run) (*estimate, error) {
	var e *estimate
	for _, c := range s.rivals {
		one, err := s.estimateOf(c, runs)
		if err != nil {
			return nil, err
		}
		if e == nil {
			e = one
			continue
		}
		if one.misfit != "" && e.misfit == "" && len(runs) > 2 {
			continue
		}
		e.low, e.high = min(e.low, one.low), max(e.high, one.high)
	}
	return e, nil
}

// estimateOf leaves out the first run where its speed is far from that of the others: the server was warming up.
func (s *search) estimateOf(c *calibrated, runs []*Run) (*estimate, error) {
	e, err := c.estimate(runs)
	if err != nil || len(runs) < 4 || math.IsInf(e.ln, 0) {
		return e, err
	}
	later := ofObjective{speeds: e.of[e.binding].speeds[1:]}
	later.pool(runs[1:], e.ln)
	if math.Abs(e.of[e.binding].speeds[0]-later.k) > 3*max(later.se, priorSpread) {
		if e, err = c.estimate(runs[1:]); err == nil {
			e.isWarmed = true
		}
	}
	return e, err
}

// confirmations counts the confirming runs.
func (s *search) confirmations(runs []*Run) int {
	n := 0
	for _, r := range runs {
		if r.Why == whyConfirm {
			n++
		}
	}
	return n
}

// confirms judges the run at the lower end. It is true where each objective held and the misses were as many as the twin has on the same
// arrivals, false where one was missed by more than chance would, and nil where the run cannot tell.
func (s *search) confirms(r *Run, e *estimate) *bool {
	c, yes, no := s.rivals[0], true, false
	canTell := r.CutAt == 0
	for j, o := range s.q.Objectives {
		t := r.reading.tallies[j]
		if o.Metric == metric.FailureRatio {
			continue
		}
		_, excess := s.q.missed(t, o)
		expected := c.at(r, int(math.Round(e.of[j].k*kGrid))).tallies[j]
		if o.Quantile == 0 {
			if excess > 0.05 {
				return &no
			}
			canTell = canTell && excess <= 0
			continue
		}
		misfit := math.Log(float64(t.misses+2) / float64(expected.misses+2))
		if misfit > math.Ln2 && excess > 0 {
			return &no
		}
		isLong := r.LengthS >= 0.99*s.q.length(r.Scale).Seconds()
		canTell = canTell && excess <= 0 && math.Abs(misfit) <= math.Ln2 && float64(t.n)*o.allowed() >= 3 && (isLong || expected.misses >= 3)
	}
	if !canTell {
		return nil
	}
	return &yes
}

// confirmed is the answer after the confirming run. A run that contradicts the answer, or a twin that no longer fits, leaves it undecided.
func (s *search) confirmed(e *estimate, confirmed *bool) *Answer {
	outcome, why := Found, ""
	switch {
	case confirmed != nil && !*confirmed:
		outcome, why = Undecided, "the confirming run at the lower end missed more than the model expected"
	case e.misfit != "":
		outcome, why = Undecided, "with the confirming run the model does not fit: "+e.misfit
	}
	a := s.answer(outcome, e, why)
	a.Confirmed = confirmed
	if last := s.runs[len(s.runs)-1]; confirmed == nil && s.q.isPlainlyBeyond(last) {
		a.Confirmed = new(false)
	}
	return a
}

// isPlainlyBeyond says that a run missed more than an objective allows by the lower end of its own 90 % interval, of as many misses as came
// at random.
func (q *Question) isPlainlyBeyond(r *Run) bool {
	for j, o := range q.Objectives {
		misses := float64(r.reading.tallies[j].misses)
		if o.Metric != metric.FailureRatio && o.Quantile > 0 && misses-twoSided*math.Sqrt(misses) > o.allowed()*float64(r.reading.tallies[j].n) {
			return true
		}
	}
	return false
}

// lowEnd is that of the answer: not above a run that was plainly beyond, whatever the twin makes of it.
func (q *Question) lowEnd(e *estimate) float64 {
	low := e.low
	for _, r := range e.runs {
		if q.isPlainlyBeyond(r) {
			low = min(low, math.Log(r.Scale))
		}
	}
	return low
}

// lacksFar says that all runs that count are at the answer. Where the first one does not count, nothing tells yet how the misses change
// with the load.
func (e *estimate) lacksFar() bool {
	if !e.isWarmed {
		return false
	}
	return !slices.ContainsFunc(e.runs, func(r *Run) bool { return math.Abs(math.Log(r.Scale)-e.ln) > 0.12 })
}

// answer puts together what is known.
func (s *search) answer(outcome string, e *estimate, why string) *Answer {
	q := s.q
	a := &Answer{Outcome: outcome, Why: why, LoadS: s.loadS(), Notes: s.remarks(e), Runs: []string{}, Table: []Row{}, Shares: []ShareAt{}, Curve: []CurveAt{}}
	for _, r := range s.runs {
		a.Runs = append(a.Runs, r.ID)
		a.Table = append(a.Table, q.row(r))
	}
	if !math.IsInf(s.predicted, 0) {
		predicted := math.Exp(s.predicted)
		a.PredictedScale = &predicted
	}
	if e == nil || outcome == Invalid {
		return a
	}
	for _, r := range s.runs {
		if r.Why == whyConfirm && !q.isWithin(r) {
			no := false
			a.Confirmed = &no
		}
	}
	a.Settings, a.Shift = s.rivals[0].settings, s.rivals[0].shift
	if !math.IsInf(e.ln, 1) {
		binding := q.Objectives[e.binding].String()
		a.BindingObjective = &binding
	}
	switch outcome {
	case AboveMax:
		a.ScaleLow, a.RateLowPerS = &q.MaxScale, q.rate(&q.MaxScale)
		if remark := Unwaited(q.Objectives); remark != "" {
			a.Notes = append(a.Notes, remark)
		}
		return a
	case BelowMin:
		a.ScaleHigh, a.RateHighPerS = &q.MinScale, q.rate(&q.MinScale)
		return a
	case NotPossible:
		return a
	case Undecided:
		minutes := s.minutesEnough(e)
		a.MinutesEnough = &minutes
	}
	a.setScale(q, e.ln, q.lowEnd(e), e.high)
	s.describe(a, e)
	return a
}

// describe adds the curve around the limit, and the users.
func (s *search) describe(a *Answer, e *estimate) {
	if s.q.IsBrief || math.IsInf(e.ln, 0) {
		return
	}
	c := s.rivals[0]
	of := e.of[e.binding]
	for _, part := range []float64{0.9, 1, 1.1} {
		at := ShareAt{OfLimit: part}
		for j := range s.q.Objectives {
			at.Missed = append(at.Missed, c.curve.shareAt(j, math.Log(part)+e.ln, e.of[j].k))
		}
		a.Shares = append(a.Shares, at)
	}
	width := of.gain * 1.65 * of.se // a slower server misses at less load what it would miss at more
	for _, part := range []float64{0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3} {
		ln := e.ln + math.Log(part)
		if ln < math.Log(s.q.MinScale) || ln > math.Log(s.q.MaxScale) {
			continue
		}
		a.Curve = append(a.Curve, CurveAt{Scale: math.Exp(ln), Missed: c.curve.shareAt(e.binding, ln, of.k),
			MissedLow: c.curve.shareAt(e.binding, ln-width, of.k), MissedHigh: c.curve.shareAt(e.binding, ln+width, of.k)})
	}
	if s.q.Mode == schedule.Sessions {
		shift := c.shift
		shift.All += of.k
		if requests, err := s.plans.whole(math.Exp(e.ln), s.q.curveSeed(0)); err == nil {
			if replies, err := c.play(requests, math.Exp(e.ln), shift, engine.Noise{}); err == nil {
				n := users(requests, replies, s.q.length(math.Exp(e.ln)))
				a.Users, a.ThinkS = &n, meanThink(requests)
			}
		}
	}
}

// shareAt is the twin's share of misses at a multiple and speed, from the nearest points of the curve.
func (c *curve) shareAt(objective int, ln, k float64) float64 {
	at := func(scale, speed int) float64 {
		p := c.at(place{scale, speed})[objective]
		return (p.misses + 0.25) / (p.n + 0.5)
	}
	// Slower steps act like more traffic, so that one column of the curve serves for all speeds near it.
	speed := int(math.Round(k / speedStep))
	x := (ln + (k - float64(speed)*speedStep)) / curveStep
	low := int(math.Floor(x/float64(c.apart))) * c.apart
	a, b := math.Log(at(low, speed)), math.Log(at(low+c.apart, speed))
	return math.Exp(a + (b-a)*(x-float64(low))/float64(c.apart))
}

// minutesEnough is how much load in all would probably do: more runs like those that were, until the interval is as narrow as asked.
func (s *search) minutesEnough(e *estimate) float64 {
	load, run := s.loadS()/60, min(usualLength, s.q.length(math.Exp(min(e.ln, 10)))).Minutes()
	if e.misfit != "" {
		return load + 5*s.q.length(1).Minutes()
	}
	of, wanted := e.of[e.binding], math.Log1p(s.q.Precision)
	n := math.Max(float64(near(s.usable(), e.ln)), 1)
	spread := math.Max(of.se*of.se-leastError*leastError, 0) * n
	missing := math.Max(2-n, 1)
	for ; missing < 100; missing++ {
		se := math.Sqrt(spread/(n+missing) + leastError*leastError)
		if regression.StudentT95(of.freedom+missing)*se*math.Max(of.gain, 1) <= wanted {
			break
		}
	}
	return load + missing*run
}

// remarks are what a reader must know of the runs.
func (s *search) remarks(e *estimate) []string {
	notes := append([]string{}, s.q.Remarks...)
	var first *Run
	for _, r := range s.runs {
		if r.isLate(s.q) {
			notes = append(notes, fmt.Sprintf("run %d does not count: %s", r.Number, r.lateness()))
			continue
		}
		if first == nil {
			first = r
		}
		if a, b := first.Said.UnloadedS, r.Said.UnloadedS; a > 0 && b > 0 && math.Abs(math.Log(b/a)) > 0.1 {
			notes = append(notes, fmt.Sprintf("the unloaded latency drifted: %.3g s before run %d, %.3g s before run %d", a, first.Number, b, r.Number))
		}
		if first.Said.HasCachedShare && r.Said.HasCachedShare && r.Said.CachedShare > first.Said.CachedShare+0.05 {
			notes = append(notes, fmt.Sprintf("the prefix cache warmed up: %.0f %% of prompt tokens in run %d, %.0f %% in run %d", 100*first.Said.CachedShare, first.Number, 100*r.Said.CachedShare, r.Number))
		}
	}
	notes = append(notes, s.unordered()...)
	if e != nil {
		notes = append(notes, s.trends(e)...)
	}
	for i, o := range s.q.Objectives {
		if o.Metric == metric.FailureRatio && len(s.usable()) > 0 {
			notes = append(notes, s.failureBound(i, o))
		}
	}
	return notes
}

// unordered names two runs of which the one with less load missed far more.
func (s *search) unordered() []string {
	for _, a := range s.usable() {
		for _, b := range s.usable() {
			for j, o := range s.q.Objectives {
				x, y := a.reading.tallies[j], b.reading.tallies[j]
				if o.Metric == metric.FailureRatio || o.Quantile == 0 || a.Scale > 0.9*b.Scale || x.n == 0 || y.n == 0 || b.CutAt > 0 {
					continue
				}
				more, less := float64(x.misses)/float64(x.n), float64(y.misses)/float64(y.n)
				if x.misses >= 10 && more > 3*less+o.allowed() {
					return []string{fmt.Sprintf("not monotone: %.2g %% missed %s at %.3g, %.2g %% at %.3g", 100*more, o, a.Scale, 100*less, b.Scale)}
				}
			}
		}
	}
	return nil
}

// trends names a speed that changes with the load: the twin is then wrong in how load slows the server.
func (s *search) trends(e *estimate) []string {
	if math.IsInf(e.ln, 0) || len(e.of) == 0 {
		return nil
	}
	var low, lows, high, highs float64
	for i, k := range e.of[e.binding].speeds {
		switch ln := math.Log(e.runs[i].Scale) - e.ln; {
		case math.IsNaN(k):
		case ln > -0.5 && ln < -0.12:
			low, lows = low+k, lows+1
		case ln > -0.12 && ln < 0.12:
			high, highs = high+k, highs+1
		}
	}
	if lows > 0 && highs > 0 && math.Abs(high/highs-low/lows) > 0.1 {
		return []string{fmt.Sprintf("the server is %+.0f %% slower, beside the model, at the limit than at three quarters of it", 100*(high/highs-low/lows))}
	}
	return nil
}

// failureBound says what the runs tell of a share of failures: with none, at most 3/n.
func (s *search) failureBound(i int, o Objective) string {
	failed, n := 0.0, 0
	for _, r := range s.usable() {
		failed, n = failed+r.reading.tallies[i].sum, n+r.reading.tallies[i].n
	}
	if failed == 0 && n > 0 {
		return fmt.Sprintf("no request of %d failed: the share of failures is at most %.2g %% (asked: %.2g %%)", n, 300/float64(n), 100*o.AtMost)
	}
	return fmt.Sprintf("%.0f of %d requests failed (asked: at most %.2g %%)", failed, n, 100*o.AtMost)
}
