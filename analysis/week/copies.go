package week

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"tidemark/internal/show"
)

// The same requests in two sources are counted once. Exact copies have the same instants and lengths. Copies by another clock, or with whole
// seconds, have the same lengths in the same order at a nearly constant offset; these are looked for where no exact ones are found.
// queries/macros/copies.sql has the conditions: they are strict, so that two different traces do not pass for copies.

// copies are rows of one source that another one holds as well; they were counted once.
type copies struct {
	SourceID int64   `json:"source_id"`
	Of       int64   `json:"of"`
	Rows     int64   `json:"rows"`
	OffsetS  float64 `json:"offset_s,omitempty"` // of its clock, ahead of the other's
}

func (c copies) note(name, of string) string {
	text := fmt.Sprintf("%s of %s are in %s as well", show.Things(int(c.Rows), "request", "requests"), name, of)
	switch off := math.Abs(c.OffsetS); {
	case c.OffsetS == 0:
		return text + "; they are counted once."
	case off < offsetJitterS:
		text += ", at instants that differ by less than a second"
	case c.OffsetS > 0:
		text += fmt.Sprintf(", by a clock that is %s s ahead", show.Figures(off))
	default:
		text += fmt.Sprintf(", by a clock that is %s s behind", show.Figures(off))
	}
	return text + "; they are counted once, at the times of " + of + "."
}

// offsetJitterS is how far the instants of copies are apart at most, as of whole seconds beside a finer clock.
const offsetJitterS = 1

// findCopies finds rows that an earlier source holds as well, and leaves them out of the adder's requests.
func (a *adder) findCopies(ctx context.Context, parts []part) (all []copies, err error) {
	for j, later := range parts {
		for _, earlier := range parts[:j] {
			if earlier.id == later.id || !earlier.overlaps(later) {
				continue
			}
			c := copies{SourceID: later.id, Of: earlier.id}
			if c.Rows, err = a.leaveOut(ctx, fmt.Sprintf("macros.exact_copies('requests', %d, %d)", earlier.id, later.id)); err == nil && c.Rows == 0 {
				err = a.findShifted(ctx, &c, earlier)
			}
			if err != nil {
				return nil, err
			}
			if c.Rows > 0 {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// findShifted finds copies by another clock.
func (a *adder) findShifted(ctx context.Context, c *copies, earlier part) error {
	err := a.conn.QueryRowContext(ctx, a.with("select offset_s from macros.clock_offset('requests', %d, %d)", c.Of, c.SourceID)).Scan(&c.OffsetS)
	if err == sql.ErrNoRows {
		return nil
	}
	if err == nil {
		start := a.week.Start()
		c.Rows, err = a.leaveOut(ctx, fmt.Sprintf("macros.shifted_copies('requests', %d, %d, '%v'::double, %d, %d, %d)", c.Of, c.SourceID, c.OffsetS,
			a.week.End().Sub(start).Nanoseconds(), earlier.first.Sub(start).Nanoseconds(), earlier.last.Sub(start).Nanoseconds()))
	}
	return err
}

// leaveOut counts copies, which a macro finds among the requests, and has the adder do without them.
func (a *adder) leaveOut(ctx context.Context, copies string) (rows int64, err error) {
	if err = a.conn.QueryRowContext(ctx, a.with("select count(*) from %s", copies)).Scan(&rows); err == nil && rows > 0 {
		a.requests = a.with("select requests.* from requests anti join %s using (source_id, line)", copies)
	}
	return rows, err
}
