package analysis

import (
	"context"
	"slices"
	"time"

	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/plan"
)

// TPOTOf is TPOT in the mean mix of a plan's requests.
func (c StepCost) TPOTOf(inFlight int, contextTokens float64, of plan.Header) time.Duration {
	mean := func(tokens int64) float64 { return float64(tokens) / max(float64(of.Requests), 1) }
	return plan.FromSeconds(c.TPOT(inFlight, contextTokens, mean(of.InputTokens), mean(of.SharedTokens), mean(of.OutputTokens)))
}

// mostRehearsed bounds the requests of a rehearsal that nobody asked for by name: a day of a busy service, some seconds.
const mostRehearsed = 1_000_000

// InFlight is what one server of a deployment has in flight while it answers a plan, from when a request is due to its last token.
type InFlight struct {
	Mean    float64       // over the plan's duration
	Peak    int           // the most at an instant
	After   time.Duration // the last token comes so long after the last request was due
	Refused int           // requests that are longer than the server takes
}

// InFlight rehearses a plan, as long as it has at most mostRehearsed requests; ok is false for a longer one.
func (c StepCost) InFlight(ctx context.Context, p *plan.Plan) (f InFlight, ok bool, err error) {
	if p.Header().Requests > mostRehearsed {
		return f, false, nil
	}
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	var busy, lastDue, end time.Duration
	s := c.alone()
	s.Mode, s.MaxConcurrency = p.Header().Mode, p.Header().MaxConcurrency
	err = rehearsal.Play(ctx, s, p.Requests(), func(r *rehearsal.Request) error {
		if r.Failure != "" {
			f.Refused++
			return nil
		}
		changes = append(changes, change{r.Due, 1}, change{r.Last, -1})
		busy, lastDue, end = busy+r.Last-r.Due, max(lastDue, r.Due), max(end, r.Last)
		return nil
	})
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by
	})
	now := 0
	for _, c := range changes {
		now += c.by
		f.Peak = max(f.Peak, now)
	}
	if end > 0 {
		f.Mean, f.After = busy.Seconds()/end.Seconds(), end-lastDue
	}
	return f, true, err
}
