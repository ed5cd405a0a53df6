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

// Callbacks do for an experiment what it cannot do itself.
type Callbacks struct {
	// Run replays a step, takes the run in and judges it. It calls sent as soon as the run is whole on disk. Its result
	// is NotTakenIn where another process holds the warehouse.
	Run func(ctx context.Context, s Step, sent func(runID string) error) (Result, error)
	// TakeIn tries that again for a run that Run left behind. It takes its time if nothing is left to do but this.
	TakeIn func(ctx context.Context, d Done, takesTime bool) (Result, error)
	// Tell is given a line for people.
	Tell func(string)
}

// Play does what is left of the experiment, in order, and returns all that has ended. A run that cannot be taken in
// does not keep the next from being sent: it is taken in later, after a row or at the end, and its outcome counts from
// then on. Other errors end the experiment; the journal says how far it came.
func Play(ctx context.Context, f File, l *Log, h Callbacks) ([]Done, error) {
	steps, event, why := f.Steps(), "finished", ""
	var all []Done
	isHeld := false // the last thing that was tried failed for that
	for n, s := range steps {
		if !isHeld {
			if err := takeIn(ctx, l, h, all, false); err != nil {
				return all, err
			}
		}
		if why = f.stops(all, s); why != "" {
			h.Tell("stopped: " + why)
			event = "stopped"
			break
		}
		where := fmt.Sprintf("step %d of %d: %s", n+1, len(steps), s.Value)
		if f.Repeats > 1 {
			where += fmt.Sprintf(", repeat %d of %d", s.Repeat+1, f.Repeats)
		}
		if d, has := l.Has(s); has {
			h.Tell(fmt.Sprintf("%s: done before, %s", where, d.Outcome))
			all = append(all, d)
			continue
		}
		h.Tell(where)
		d, err := run(ctx, l, h, s)
		if err != nil {
			return all, err
		}
		all, isHeld = append(all, d), d.Outcome == NotTakenIn
	}
	if err := takeIn(ctx, l, h, all, true); err != nil {
		return all, err
	}
	return all, l.end(event, why)
}

func run(ctx context.Context, l *Log, h Callbacks, s Step) (Done, error) {
	if err := l.started(s); err != nil {
		return Done{}, err
	}
	r, err := h.Run(ctx, s, func(runID string) error { return l.sent(s, runID) })
	if err == nil {
		err = ctx.Err() // what was interrupted has not ended
	}
	if err != nil {
		return Done{}, err
	}
	d := Done{s.Row, s.Repeat, s.Value, r.RunID, r.Outcome, r.FirstLine}
	if d.Outcome == NotTakenIn {
		return d, nil // the journal has it as sent
	}
	return d, l.ended(d)
}

// takeIn tries the runs that were left behind, until one is left behind again.
func takeIn(ctx context.Context, l *Log, h Callbacks, all []Done, takesTime bool) error {
	for i, d := range all {
		if d.Outcome != NotTakenIn {
			continue
		}
		r, err := h.TakeIn(ctx, d, takesTime)
		if err != nil {
			return err
		}
		if r.Outcome == NotTakenIn {
			return nil
		}
		all[i].Outcome, all[i].FirstLine = r.Outcome, r.FirstLine
		if err := l.ended(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// stops is why the experiment ends before the step, or empty. It ends between rows only, so that each row has all its
// repeats. A row that is judged late may have ended it some rows ago.
func (f File) stops(all []Done, next Step) string {
	if f.StopAfterNotMet == 0 || next.Repeat > 0 {
		return ""
	}
	var values []string // of rows one after the other that did not meet the SLO
	for row := range next.Row {
		if RowOutcome(all, row) != NotMet {
			values = nil
			continue
		}
		if values = append(values, f.rows[row].value); len(values) == f.StopAfterNotMet {
			return theyMissed(values)
		}
	}
	return ""
}

func theyMissed(values []string) string {
	if len(values) == 1 {
		return fmt.Sprintf("row %s did not meet the SLO", values[0])
	}
	return fmt.Sprintf("%d rows one after the other did not meet the SLO: %s", len(values), strings.Join(values, ", "))
}

// RowOutcome is how a row came out over its repeats: invalid repeats say nothing, one that did not meet the SLO decides,
// and otherwise it is open while one is not taken in.
func RowOutcome(all []Done, row int) Outcome {
	outcome := Invalid
	for _, d := range all {
		if d.Row != row {
			continue
		}
		switch {
		case d.Outcome == NotMet:
			return NotMet
		case outcome == NotTakenIn:
		case d.Outcome == NotTakenIn || d.Outcome == Undecided || outcome == Invalid:
			outcome = d.Outcome
		}
	}
	return outcome
}
