package capacity

import (
	"context"
	"math"

	"tidemark/analysis/metric"
)

// Limits are where the objectives of one question end at several speeds of the twin: for somebody who asks about many windows and needs
// no table and no third digit. All speeds are played with the same seeds, so that their ratio is known better than each.
type Limits struct {
	q        Question
	plans    *plans
	twin     *twin
	requests int
	curves   map[Shift]*curve
}

// Limit is one of them.
type Limit struct {
	Ln        float64 // of the multiple; -Inf: below the smallest that was asked about, Inf: above the largest
	Noise     float64 // standard error of Ln by the seeds
	Objective int     // that binds
}

// NewLimits plays about so many requests at each point; the default of a search is 30,000.
func NewLimits(ctx context.Context, q Question, requests int) (*Limits, error) {
	l := &Limits{q: q, requests: requests, curves: map[Shift]*curve{}}
	l.q.curveRequests = requests
	settled, err := l.q.settled()
	if err != nil {
		return nil, err
	}
	l.q = settled
	l.plans = newPlans(&l.q)
	l.twin = newTwin(ctx, &l.q, Settings{})
	return l, nil
}

// limitsApart is how many steps of the curve lie between two points that a limit or a share is read off.
const limitsApart = 2

// MostScale is the largest multiple that is asked about.
func (l *Limits) MostScale() float64 { return l.q.MaxScale }

// At is the smallest limit at a speed, searched from a first guess of its ln on. With deepen more seeds are played where they leave more
// than the precision that was asked for, at most nine times as many.
func (l *Limits) At(shift Shift, guess float64, deepen bool) (Limit, error) {
	c := l.curve(shift)
	got := l.smallest(c, guess)
	for deepen && halfOf(limit{noise: got.Noise}) > math.Log1p(l.q.Precision) && c.deepen(got.Objective, 0) {
		got = l.smallest(c, got.Ln)
	}
	return got, c.err
}

// smallest limit of all objectives. A point is played once for all of them, so they are bracketed together: low holds each of them, high
// does not hold one. It is the rule of curve.limit otherwise, with points that may lie twice as far apart.
func (l *Limits) smallest(c *curve, guess float64) Limit {
	q := &l.q
	least, most := int(math.Floor(math.Log(q.MinScale)/curveStep)), int(math.Ceil(math.Log(q.MaxScale)/curveStep))
	inside := func(n int) int { return max(least, min(most, n)) }
	low, high := c.bracket(c.worst, inside(int(math.Round(guess/curveStep))), least, most, limitsApart, 40)
	got := Limit{Ln: math.Inf(1)}
	switch {
	case c.err != nil || high > most:
		return got
	case low < least:
		got.Ln = math.Inf(-1)
		for j := range q.Objectives {
			if c.at(place{least, 0})[j].excess > c.at(place{least, 0})[got.Objective].excess {
				got.Objective = j
			}
		}
		return got
	}
	for j, o := range q.Objectives {
		a, b := c.at(place{low, 0})[j], c.at(place{high, 0})[j]
		if o.Metric == metric.FailureRatio || b.excess <= 0 {
			continue
		}
		ln, width := float64(low)*curveStep, float64(high-low)*curveStep
		slope := max((b.excess-a.excess)/width, 0.5)
		if !math.IsInf(a.excess, 0) {
			ln += width * -a.excess / (b.excess - a.excess)
		}
		noise := (a.noise + b.noise) / 2 / slope
		if math.IsNaN(noise) || math.IsInf(noise, 0) {
			noise = width
		}
		if ln < got.Ln {
			got = Limit{Ln: ln, Noise: noise, Objective: j}
		}
	}
	return got
}

// Missed is the share of requests that miss an objective at a multiple.
func (l *Limits) Missed(shift Shift, objective int, ln float64) (float64, error) {
	c := l.curve(shift)
	share := c.shareAt(objective, ln, 0)
	return share, c.err
}

// Alone is what an objective comes to where each request has the fleet to itself, in the unit of its bound, and whether it is missed: then at no rate, by no
// number of replicas, is it kept.
func (l *Limits) Alone(objective int) (value float64, isMissed bool) {
	return l.twin.alone(objective, Shift{})
}

func (l *Limits) curve(shift Shift) *curve {
	c := l.curves[shift]
	if c == nil {
		c = newCurve(l.twin, l.plans, shift, l.requests)
		c.apart = limitsApart
		l.curves[shift] = c
	}
	return c
}
