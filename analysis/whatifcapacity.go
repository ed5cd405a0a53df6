//go:build duckdb_arrow

package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"tidemark/analysis/capacity"
	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/plan"
)

// The capacity of a row of what-if is the one that the verb capacity rehearses: of the same window, with the same draws, and with
// the same interval. Replicas are rehearsed together.

// mostFleet is the largest number of replicas that is rehearsed together; what needs more is scaled up from it.
const mostFleet = 32

// question is what the verb capacity would ask about these requests, which come at the traffic's own rate. ok is false where no objective
// is a latency.
func (s Scenario) question(ctx context.Context, answers *Answers, settings rehearsal.Settings, cost StepCost, requests []plan.Request, slo SLO) (asked fleetQuestion, ok bool, err error) {
	q := capacity.Question{Objectives: slo.SearchedLatencies()}
	if len(q.Objectives) == 0 {
		return asked, false, nil
	}
	q.Mode = cmp.Or(s.Plan.Mode, "open")
	var window capacity.Window
	if q.Window, window, asked.caution = capacity.CutWindow(requests, s.Plan, q.Mode, s.Window); window.Until == 0 {
		q.Window, window, asked.caution = capacity.CutWindow(requests, s.Plan, q.Mode, 0) // few requests are all asked about
	}
	q.Length, q.Seed = window.Length(), 1
	q.MaxScale, q.IsBrief = capacity.MostScale, true
	e := settings.Engine
	e.StepTime = cost.StepTime(1)
	q.Twin = RehearsedTwin(e, cost.Deployment)
	q.Twin.Replicas = settings.Replicas
	q.Twin.Band, err = ServerBand(ctx, answers.DB, cost.Deployment)
	asked.Question, asked.answers, asked.deployment, asked.span = q, answers, cost.Deployment, window.Span(q.Window, plan.Header{})
	return asked, true, err
}

// fleetQuestion is a question with whom it is asked for.
type fleetQuestion struct {
	capacity.Question
	answers    *Answers
	deployment deployment.Deployment
	span       capacity.Span
	caution    string // about the window; empty: none
}

// RehearsedTwin is one server that is only rehearsed; its band is not known yet.
func RehearsedTwin(e engine.Config, d deployment.Deployment) capacity.Twin {
	e.MaxModelLen = LongestOf(e, d)
	return capacity.Twin{Engine: e, StepTime: capacity.ShiftedSteps(e.StepTime), Replicas: 1, Routing: rehearsal.Turns, AreSettingsCertain: true}
}

// LongestOf is the longest request that a twin takes, tokens.
func LongestOf(e engine.Config, d deployment.Deployment) int {
	return min(cmp.Or(d.MaxModelLen, 131072), e.KVTokens())
}

// rehearseCapacity fills in what the servers take within the SLO, and how many of them the window needs.
func (o *Outlook) rehearseCapacity(ctx context.Context, q fleetQuestion, scale float64) error {
	perS, err := q.rateWithin(ctx)
	if err != nil {
		return err
	}
	wanted := scale * float64(len(q.Window)) / q.Length.Seconds()
	o.CapacityPerS, o.Headroom, o.IsRehearsed, o.Caution = perS, perS.Value/wanted-1, true, q.caution
	known := map[int]Range{max(q.Twin.Replicas, 1): perS}
	if o.Needed, err = q.replicasFor(ctx, known, wanted, func(r Range) float64 { return r.Value }); err != nil {
		return err
	}
	o.Cautious, err = q.replicasFor(ctx, known, wanted, func(r Range) float64 { return r.Low })
	return err
}

// rateWithin is the largest rate within the objectives, of all replicas together, requests/s.
func (q fleetQuestion) rateWithin(ctx context.Context) (Range, error) {
	a, err := q.answers.Rehearse(ctx, q.Question, q.deployment, q.span)
	if err != nil {
		return Range{}, fmt.Errorf("what-if: %w", err)
	}
	or := func(v *float64, other float64) float64 {
		if v == nil {
			return other
		}
		return *v
	}
	switch a.Outcome {
	case capacity.Found:
		return Range{*a.RatePerS, or(a.RateLowPerS, 0), or(a.RateHighPerS, math.NaN())}, nil
	case capacity.AboveMax:
		return Range{*a.RateLowPerS, *a.RateLowPerS, math.NaN()}, nil
	}
	return Range{}, nil
}

// replicasFor is the smallest number of replicas whose capacity, rehearsed together, is at one of its ends at least the rate; 0: none is.
// known are capacities by replicas, those that were asked about among them; it adds what it rehearses. The answer does not depend on how many
// were asked about: it is rehearsed itself, and so is one less.
func (q fleetQuestion) replicasFor(ctx context.Context, known map[int]Range, wanted float64, end func(Range) float64) (int, error) {
	enough, tooFew := math.MaxInt, 0
	asked := max(q.Twin.Replicas, 1)
	for try := replicasAt(wanted, end(known[asked])/float64(asked)); enough-tooFew > 1; {
		if try == 0 || try > mostFleet {
			return try, nil
		}
		if _, is := known[try]; !is {
			q.Twin.Replicas = try
			perS, err := q.rateWithin(ctx)
			if err != nil {
				return 0, err
			}
			known[try] = perS
		}
		takes := end(known[try])
		if takes >= wanted {
			enough = try
		} else {
			tooFew = try
		}
		// As many as would be enough if each took as much as each of these.
		try = min(max(replicasAt(wanted, takes/float64(try)), tooFew+1), enough-1)
	}
	return enough, nil
}
