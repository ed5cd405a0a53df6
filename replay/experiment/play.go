package experiment

import (
	"context"
	"fmt"
	"strings"
)

// Result is what the caller reports about a step.
type Result struct {
	RunID     string
	Outcome   Outcome
	FirstLine string
}

// Callbacks do for an experiment what it cannot do itself, since this package knows neither
// warehouse nor terminal.
type Callbacks struct {
	// Run replays a step, ingests the run and judges it. It calls sent as soon as the run's files
	// are complete. Its result is NotTakenIn where another process holds the warehouse.
	Run func(ctx context.Context, s Step, sent func(runID string) error) (Result, error)
	// TakeIn tries again to ingest and judge a run that Run left behind. takesTime says that
	// nothing else is left to do, so that it may wait for the warehouse.
	TakeIn func(ctx context.Context, d Done, takesTime bool) (Result, error)
	// Tell shows a line to the user.
	Tell func(string)
}

// Play does the steps that are left, in order, and returns all that have ended. A run that cannot
// be ingested does not delay the next: GPU time must not wait for a lock. It is ingested later,
// after a row or at the end, and its outcome counts from then on. Other errors end the experiment;
// the journal knows how far it came.
func Play(ctx context.Context, f File, l *Log, h Callbacks) ([]Done, error) {
	steps, event, why := f.Steps(), "finished", ""
	var all []Done
	isHeld := false // the warehouse was held at the last try
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
	return all, l.add(logLine{Event: event, Why: why})
}

func run(ctx context.Context, l *Log, h Callbacks, s Step) (Done, error) {
	if err := l.started(s); err != nil {
		return Done{}, err
	}
	r, err := h.Run(ctx, s, func(runID string) error { return l.sent(s, runID) })
	if err == nil {
		err = ctx.Err() // an interrupted step has not ended
	}
	if err != nil {
		return Done{}, err
	}
	d := Done{s.Row, s.Repeat, s.Value, r.RunID, r.Outcome, r.FirstLine}
	if d.Outcome == NotTakenIn {
		return d, nil // the journal has the run as sent
	}
	return d, l.ended(d)
}

// takeIn tries the runs that were left behind, in order, until one is left behind again.
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

// stops is the reason why the experiment ends before a step, or empty. It ends between rows only,
// so that each row has all its repeats. A row that is judged late may have ended it some rows ago.
func (f File) stops(all []Done, next Step) string {
	if f.StopAfterNotMet == 0 || next.Repeat > 0 {
		return ""
	}
	var values []string // of successive rows that did not meet the SLO
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
	return fmt.Sprintf("%d rows in succession did not meet the SLO: %s", len(values), strings.Join(values, ", "))
}

// RowOutcome combines the repeats of a row. Invalid repeats say nothing, one that did not meet the
// SLO decides, and otherwise the row is open while a repeat is not ingested.
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
