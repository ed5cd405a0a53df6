package experiment

import (
	"context"
	"fmt"
	"strings"
)

// Result is what a caller says of a step it has done.
type Result struct {
	RunID     string
	Outcome   Outcome
	FirstLine string
}

// Play does what is left of the experiment, in order, and returns all that has ended. do replays one step; tell is given
// a line for people. An error of do ends it; the journal says how far it came.
func Play(ctx context.Context, f File, l *Log, do func(context.Context, Step) (Result, error), tell func(string)) ([]Done, error) {
	steps := f.Steps()
	var all []Done
	for n, s := range steps {
		if why := f.stops(all, s); why != "" {
			tell("stopped: " + why)
			return all, l.end("stopped", why)
		}
		where := fmt.Sprintf("step %d of %d: %s", n+1, len(steps), s.Value)
		if f.Repeats > 1 {
			where += fmt.Sprintf(", repeat %d of %d", s.Repeat+1, f.Repeats)
		}
		if d, has := l.Has(s); has {
			tell(fmt.Sprintf("%s: done before, %s", where, d.Outcome))
			all = append(all, d)
			continue
		}
		tell(where)
		if err := l.started(s); err != nil {
			return all, err
		}
		r, err := do(ctx, s)
		if err == nil {
			err = ctx.Err() // what was interrupted has not ended
		}
		if err != nil {
			return all, err
		}
		d := Done{s.Row, s.Repeat, s.Value, r.RunID, r.Outcome, r.FirstLine}
		if err := l.ended(d); err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, l.end("finished", "")
}

// stops is why the experiment ends before the step, or empty. It ends between rows only, so that each row has all its
// repeats.
func (f File) stops(all []Done, next Step) string {
	if f.StopAfterNotMet == 0 || next.Repeat > 0 {
		return ""
	}
	failed := 0
	var values []string
	for row := next.Row - 1; row >= 0 && RowOutcome(all, row) == NotMet; row-- {
		failed++
		values = append([]string{f.rows[row].value}, values...)
	}
	if failed < f.StopAfterNotMet {
		return ""
	}
	return fmt.Sprintf("%d rows one after the other did not meet the SLO: %s", failed, strings.Join(values, ", "))
}

// RowOutcome is how a row came out over its repeats: invalid repeats say nothing, one that did not meet the SLO decides.
func RowOutcome(all []Done, row int) Outcome {
	outcome := Invalid
	for _, d := range all {
		if d.Row != row {
			continue
		}
		switch {
		case d.Outcome == NotMet:
			return NotMet
		case d.Outcome == Undecided || outcome == Invalid:
			outcome = d.Outcome
		}
	}
	return outcome
}
