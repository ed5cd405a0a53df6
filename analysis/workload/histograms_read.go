//go:build duckdb_arrow

package workload

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/profile"
)

func readHistograms(ctx context.Context, db *sql.DB, name string) (*histograms, error) {
	s := &histograms{rates: map[sender][]profile.RateWindow{}, lengths: map[sender][]profile.LengthsWindow{}, mass: map[sender]float64{}}
	var begin sql.NullTime
	var files int64
	err := db.QueryRowContext(ctx, `
select
    count(*),
    min(origin_at),
    coalesce(any_value(sha256) filter (where name = $1), sha256(string_agg(sha256, '' order by sha256)), '')
from raw.sources
where name = $1
    or collection = $1`, name).Scan(&files, &begin, &s.sha256)
	if err != nil {
		return nil, err
	}
	if files == 0 {
		return nil, unknownSource(ctx, db, name)
	}
	if begin.Valid {
		s.begin = &begin.Time
	}
	if err := s.readRates(ctx, db, name); err != nil {
		return nil, err
	}
	if err := s.readLengths(ctx, db, name); err != nil {
		return nil, err
	}
	if len(s.rates) == 0 && len(s.lengths) == 0 && !s.isHalf {
		return nil, hint.Errorf("neither arrivals nor lengths nor rates in it").Hint(`see what it is: tidemark sources NAME`)
	}
	return s, nil
}

const ofSources = `
where source_id in (select source_id from raw.sources where name = $1 or collection = $1)`

func (s *histograms) readRates(ctx context.Context, db *sql.DB, name string) error {
	rows, err := db.QueryContext(ctx, `
select
    coalesce(class, ''),
    coalesce(client, ''),
    window_from_s,
    window_until_s,
    requests,
    coalesce(gap_cv, 0),
    coalesce(gap_family, ''),
    coalesce(gap_shape, 0)
from staging.rate_windows`+ofSources+`
    and window_until_s > window_from_s
order by
    window_from_s`, name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var who sender
		var from, until, requests float64
		var w profile.RateWindow
		if err := rows.Scan(&who.class, &who.client, &from, &until, &requests, &w.CV, &w.Family, &w.Shape); err != nil {
			return err
		}
		w.From, w.Until, w.RatePerS = durationOf(from), durationOf(until), requests/(until-from)
		s.rates[who] = append(s.rates[who], w)
	}
	return rows.Err()
}

func durationOf(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

func (s *histograms) readLengths(ctx context.Context, db *sql.DB, name string) error {
	rows, err := db.QueryContext(ctx, `
select
    coalesce(class, ''),
    coalesce(client, ''),
    coalesce(window_from_s, 0),
    coalesce(window_until_s, 0),
    input_above,
    input_up_to,
    output_above,
    output_up_to,
    requests
from staging.length_cells`+ofSources+`
    and requests > 0
order by all`, name)
	if err != nil {
		return err
	}
	defer rows.Close()
	isOpen, isApart := false, false
	for rows.Next() {
		var who sender
		var from, until, requests float64
		var inAbove, inUpTo, outAbove, outUpTo sql.NullInt64
		if err := rows.Scan(&who.class, &who.client, &from, &until, &inAbove, &inUpTo, &outAbove, &outUpTo, &requests); err != nil {
			return err
		}
		in, inOpen := boundsOf(inAbove, inUpTo)
		out, outOpen := boundsOf(outAbove, outUpTo)
		isOpen = isOpen || inOpen || outOpen
		l := s.window(who, durationOf(from), durationOf(until))
		switch {
		case in != nil && out != nil:
			l.Joint = append(l.Joint, profile.Cell{Input: *in, Output: *out, Count: requests})
			s.mass[who] += requests
		case in != nil:
			isApart = true
			l.Input = append(l.Input, profile.Bucket{From: float64(in[0] - 1), Until: float64(in[1]), Count: requests})
			s.mass[who] += requests
		case out != nil:
			isApart = true
			l.Output = append(l.Output, profile.Bucket{From: float64(out[0] - 1), Until: float64(out[1]), Count: requests})
		}
	}
	s.drop()
	if isApart {
		s.notes = append(s.notes, "lengths of prompts and answers are drawn independently of each other: the source does not say which go together")
	}
	if isOpen {
		s.notes = append(s.notes, "the highest bucket has no upper bound: lengths in it are drawn up to twice its lower one")
	}
	return rows.Err()
}

// window is the sender's lengths of that time.
func (s *histograms) window(who sender, from, until time.Duration) *profile.LengthsWindow {
	windows := s.lengths[who]
	i := slices.IndexFunc(windows, func(l profile.LengthsWindow) bool { return l.From == from && l.Until == until })
	if i < 0 {
		i = len(windows)
		windows = append(windows, profile.LengthsWindow{From: from, Until: until})
		s.lengths[who] = windows
	}
	return &windows[i]
}

// drop leaves out windows that know one of the two lengths alone, as where nothing
// ended in them.
func (s *histograms) drop() {
	for who, windows := range s.lengths {
		windows = slices.DeleteFunc(windows, func(l profile.LengthsWindow) bool {
			return len(l.Joint) == 0 && (len(l.Input) == 0 || len(l.Output) == 0)
		})
		if len(windows) == 0 {
			s.isHalf = true
			delete(s.lengths, who)
			delete(s.mass, who)
			continue
		}
		s.lengths[who] = windows
	}
}

// boundsOf are the whole numbers that a cell holds; nil where it says nothing of
// them, or holds none. A request has at least one token.
func boundsOf(above, upTo sql.NullInt64) (bounds *[2]int, isOpen bool) {
	switch {
	case !above.Valid && !upTo.Valid:
		return nil, false
	case !upTo.Valid:
		return &[2]int{int(above.Int64) + 1, 2 * max(int(above.Int64), 1)}, true
	case upTo.Int64 < 1 || above.Valid && upTo.Int64 <= above.Int64:
		return nil, false
	}
	return &[2]int{max(int(above.Int64)+1, 1), int(upTo.Int64)}, false
}
