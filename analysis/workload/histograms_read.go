//go:build duckdb_arrow

package workload

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/profile"
)

// readHistograms reads rates and length cells of a source, or of all files of a collection. Files of a collection have one fingerprint
// together, in an order that does not depend on when they were taken in.
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
	if err := s.holdMeans(ctx, db, name); err != nil {
		return nil, err
	}
	if len(s.rates) == 0 && len(s.lengths) == 0 && !s.isHalf {
		return nil, hint.Errorf("neither arrivals nor lengths nor rates in it").Hint(`see what it is: tidemark sources NAME`)
	}
	return s, nil
}

// ofSources limits a query to one source, or to the files of a collection.
const ofSources = `
where source_id in (select source_id from raw.sources where name = $1 or collection = $1)`

// readRates reads how many requests came in each time window, and how uneven the gaps between them were.
func (s *histograms) readRates(ctx context.Context, db *sql.DB, name string) error {
	return warehouse.Each(ctx, db, `
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
    window_from_s`, []any{name}, func(scan func(...any) error) error {
		var who sender
		var from, until, requests float64
		var w profile.RateWindow
		if err := scan(&who.class, &who.client, &from, &until, &requests, &w.CV, &w.Family, &w.Shape); err != nil {
			return err
		}
		w.From, w.Until, w.RatePerS = durationOf(from), durationOf(until), requests/(until-from)
		s.rates[who] = append(s.rates[who], w)
		return nil
	})
}

// durationOf rounds seconds to nanoseconds.
func durationOf(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// readLengths reads the cells of the histograms. A cell with bounds for both lengths is one of a joint histogram; cells with one
// length each are marginals, whose lengths are then drawn independently, which the plan's notes say.
func (s *histograms) readLengths(ctx context.Context, db *sql.DB, name string) error {
	isOpen, isApart := false, false
	err := warehouse.Each(ctx, db, `
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
order by all`, []any{name}, func(scan func(...any) error) error {
		var who sender
		var from, until, requests float64
		var inAbove, inUpTo, outAbove, outUpTo sql.NullInt64
		if err := scan(&who.class, &who.client, &from, &until, &inAbove, &inUpTo, &outAbove, &outUpTo, &requests); err != nil {
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
		return nil
	})
	s.drop()
	if isApart {
		s.notes = append(s.notes, "lengths of prompts and answers are drawn independently of each other: the source does not say which go together")
	}
	if isOpen {
		s.notes = append(s.notes, "the highest bucket has no upper bound: lengths in it are drawn up to twice its lower one")
	}
	return err
}

// window is the sender's lengths of a time window, added if it is new.
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

// drop removes windows that have only one of the two lengths, as when no request ended in them.
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

// boundsOf are the smallest and largest whole number in a cell (above, upTo]; nil if the cell has no bounds or holds no whole number.
// A request has at least one token. The highest bucket of a Prometheus histogram has no upper bound (+Inf): lengths in it go up to
// twice its lower bound.
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
