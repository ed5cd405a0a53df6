package capacity

import (
	"context"
	"math"

	"tidemark/analysis/metric"
	"tidemark/internal/show"
)

// MostScale is the largest multiple that a curve may be asked about: it looks a little beyond, and plans are made at most 1,000 times as dense.
const MostScale = 750

// twoSided standard errors are half a 90 % interval.
const twoSided = 1.645

// halfOf is the half width of a limit by the seeds alone, and by the line between two points of the curve.
func halfOf(l limit) float64 { return twoSided*l.noise + curveStep/10 }

// Rehearse finds the limit of the twin, without a server. Where the seeds leave more than the asked precision, more are played. The interval is that of the draws and, where the twin's band is known, of how far a
// real server may be from it: the limits of servers that are as much slower and faster.
func Rehearse(ctx context.Context, q Question) (Answer, error) {
	q, err := q.settled()
	if err != nil {
		return Answer{}, err
	}
	s := newSearch(ctx, &q)
	t := newTwin(ctx, &q, Settings{})
	c := newCalibrated(t, s.plans, s.settingsOf(Settings{}), Shift{}, q.curveRequests/2)
	s.rivals = []*calibrated{c}
	e := &estimate{of: make([]ofObjective, len(q.Objectives)), ln: math.Inf(1), low: math.Inf(1), high: math.Inf(1)}
	guess, wanted := 0.0, math.Log1p(q.Precision)
	if c.curve.look(guess); !math.IsInf(c.curve.binds, 0) {
		guess = c.curve.binds
	}
	for j, o := range q.Objectives {
		if o.Metric == metric.FailureRatio {
			continue
		}
		l := c.curve.limit(j, 0, guess)
		for halfOf(l) > wanted && l.lnScale-halfOf(l) <= c.curve.binds && c.curve.deepen(j, 0) { // what cannot bind need not be exact
			l = c.curve.limit(j, 0, l.lnScale)
		}
		half := halfOf(l)
		e.of[j] = ofObjective{ln: l.lnScale, low: l.lnScale - half, high: l.lnScale + half, gain: 1}
		if l.lnScale < e.ln || j == 0 {
			e.ln, e.binding = l.lnScale, j
		}
		e.low, e.high = min(e.low, e.of[j].low), min(e.high, e.of[j].high)
		if !math.IsInf(e.ln, 0) {
			guess = e.ln
		}
	}
	if c.curve.err != nil {
		return Answer{}, c.curve.err
	}
	s.predicted = e.ln
	draws := math.Expm1(e.half())
	if err := s.widen(e); err != nil {
		return Answer{}, err
	}
	switch {
	case e.ln > math.Log(q.MaxScale):
		return *s.answer(AboveMax, e, "the largest multiple that was asked about is within the objectives"), nil
	case e.ln < math.Log(q.MinScale) && s.isMissedAlone(e.binding, -math.Log1p(q.Twin.Band)): // even by steps as fast as the model's error allows
		why := q.Objectives[e.binding].String() + " is missed by requests that have the server to themselves"
		if q.Twin.Band > 0 {
			why += ", even on steps " + show.Percent(q.Twin.Band) + " faster than predicted"
		}
		return *s.answer(NotPossible, e, why), nil
	case e.ln < math.Log(q.MinScale):
		return *s.answer(BelowMin, e, "the smallest multiple that was asked about is not within the objectives"), nil
	}
	a := s.answer(Found, e, "")
	a.DrawsRatio = &draws
	return *a, nil
}

// widen takes into an estimate how far the twin's steps may be off, by fewer draws than the limit itself has, and beyond the multiples that are
// asked about.
func (s *search) widen(e *estimate) error {
	wide := *s.q
	q := &wide
	if q.Twin.Band <= 0 || math.IsInf(e.ln, 0) {
		return nil
	}
	if q.curveRequests /= 4; !q.isClosed() {
		q.MinScale, q.MaxScale = q.MinScale/8, min(MostScale, 8*q.MaxScale)
	}
	t, plans := newTwin(s.ctx, q, Settings{}), newPlans(q)
	off := func(ln float64) (float64, error) {
		c := newCalibrated(t, plans, s.settingsOf(Settings{}), Shift{All: ln}, q.curveRequests/2)
		c.curve.look(e.ln - ln)
		least := math.Inf(1)
		for j, o := range q.Objectives {
			if o.Metric != metric.FailureRatio && c.curve.canBind(j) {
				least = min(least, c.curve.limit(j, 0, e.ln-ln).lnScale)
			}
		}
		return math.Abs(least - e.ln), c.curve.err
	}
	by := math.Log1p(q.Twin.Band)
	slow, err := off(by)
	if err != nil {
		return err
	}
	fast, err := off(-by)
	if err != nil {
		return err
	}
	e.low, e.high = e.ln-math.Hypot(slow, e.ln-e.low), e.ln+math.Hypot(fast, e.high-e.ln)
	return nil
}
