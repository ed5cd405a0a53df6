//go:build duckdb_arrow

package workload

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/answers"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// The requests of a trace in order of arrival, for a plan of any length. A trace may have hundreds of millions of requests, so they are
// read in parts while the caller iterates: statistics first, in one pass that DuckDB does by itself, then the cuts between the parts, then
// one part after the other. A part begins at an arrival time, so that requests of one instant are never separated and the order within the
// instant (by source and line) is the file's.

// SourceStats describe the part of a trace that was asked for.
type SourceStats struct {
	SHA256        string   // of the file; of a collection, of its files' fingerprints
	FromS, UntilS *float64 // the window's bounds since the first arrival, seconds; nil: the trace's own
	Requests      int64
	Sessions      int64   // requests without a session are one each
	BlockUses     int64   // ids of prompt blocks in all of them
	DurationS     float64 // from the window's start to its end, seconds; an open end is the last arrival
	MeanRatePerS  float64 // requests per second of DurationS

	// Sessions of a collection whose starts were drawn, and at how many a second; 0: none was drawn.
	SessionRatePerS float64
	DrawnSessions   int64
}

// ShareAt is the share of the sessions that makes such a mean rate.
func (s SourceStats) ShareAt(ratePerS float64) float64 { return ratePerS / s.MeanRatePerS }

// Expected is about how many requests, with how many ids of prompt blocks, a plan of these choices has.
func (s SourceStats) Expected(c plan.Choices) (requests, blocks float64) {
	share := cmp.Or(c.Thin, 1)
	if c.Thicken > 1 {
		share = c.Thicken
	}
	if played := c.Played().Seconds(); played > 0 && s.DurationS > 0 {
		share *= min(1, played/s.DurationS)
	}
	return share * float64(s.Requests), share * float64(s.BlockUses)
}

// partRows is how many rows are read at once: enough that asking for a part costs little compared with its rows, and few enough that a
// plan of any length needs only tens of megabytes.
const partRows = 1 << 16

// Arrivals yields the requests of a trace, or of the sessions of a collection, in order of arrival. Due is the offset since the window's
// start. Rows are read part by part while the caller iterates, so the warehouse must stay open until the last one. The statistics
// are complete before the first request.
func Arrivals(ctx context.Context, w *warehouse.Warehouse, name string, window Window, starts Starts) (iter.Seq2[plan.Request, error], SourceStats, error) {
	var stats SourceStats
	t, err := traceOf(ctx, w.DB(), name)
	if err != nil {
		return nil, stats, err
	}
	stats.SHA256 = t.sha256()
	if err := t.start(starts); err != nil {
		return nil, SourceStats{}, err
	}
	s := t.span()
	if starts.RatePerS > 0 {
		stats.SessionRatePerS, stats.DrawnSessions = starts.RatePerS, int64(len(t.members))
		s.begin = nil // the clock was drawn, so it has no instants
	}
	p, from, until, err := t.within(window, s)
	if err != nil {
		return nil, SourceStats{}, err
	}
	stats.FromS, stats.UntilS = seconds(from), seconds(until)
	if err := count(ctx, w.DB(), p, until != nil, &stats); err != nil {
		return nil, SourceStats{}, err
	}
	if stats.Requests == 0 {
		return nil, SourceStats{}, hint.Errorf("source %s: no arrivals between %s and %s", name, cmp.Or(window.From, "its start"), cmp.Or(window.Until, "its end")).
			Hint("%s", s.String())
	}
	parts, err := p.split(ctx, w.DB(), stats.Requests)
	if err != nil {
		return nil, SourceStats{}, err
	}
	return requests(ctx, w, parts), stats, nil
}

// seconds is a bound for the statistics; nil where there is none.
func seconds(bound *time.Duration) *float64 {
	if bound == nil {
		return nil
	}
	return new(bound.Seconds())
}

// count fills in the statistics of a part in one pass over it. hasEnd says that the user named the end: then the time up to it counts, even
// if the last request comes long before.
func count(ctx context.Context, db *sql.DB, p part, hasEnd bool, stats *SourceStats) error {
	var lastNs int64
	err := db.QueryRowContext(ctx, `
select
    count(*),
    coalesce(max(offset_ns), 0),
    count(distinct session_id) + count(*) filter (where session_id is null),
    coalesce(sum(len(blocks)), 0)::bigint
from `+p.trace.rows()+` as arriving
where offset_ns >= ?
    and offset_ns < ?`, p.args()...).Scan(&stats.Requests, &lastNs, &stats.Sessions, &stats.BlockUses)
	if err != nil {
		return fmt.Errorf("source %s: %w", p.trace.name, err)
	}
	stats.DurationS = (time.Duration(lastNs) - p.begin).Seconds()
	if hasEnd {
		stats.DurationS = (p.end - p.begin).Seconds()
	}
	if stats.DurationS > 0 {
		stats.MeanRatePerS = float64(stats.Requests) / stats.DurationS
	}
	return nil
}

// part is the arrivals of a trace in [begin, end), as offsets since its first arrival. Due times count from origin.
type part struct {
	trace      trace
	begin, end time.Duration
	origin     time.Duration
}

// within is the part of a trace in a window, with the bounds that the window names (nil: it names none). s is the trace's span.
func (t trace) within(window Window, s span) (p part, from, until *time.Duration, err error) {
	if from, until, err = window.resolve(s); err != nil {
		return p, nil, nil, err
	}
	p = part{trace: t, end: s.length + 1} // a nanosecond more, because the end is excluded and the last arrival is not
	if from != nil {
		p.begin = *from
	}
	if until != nil {
		p.end = min(*until, p.end)
	}
	return p, from, until, nil
}

// split cuts at arrival times so that each part has about partRows rows. A part is larger only where more requests than that arrive at
// one instant, because a cut cannot fall between them.
func (p part) split(ctx context.Context, db *sql.DB, rows int64) ([]part, error) {
	p.origin = p.begin
	count := (rows + partRows - 1) / partRows
	if count <= 1 {
		return []part{p}, nil
	}
	var shares []string
	for i := int64(1); i < count; i++ {
		shares = append(shares, fmt.Sprintf("%d.0/%d", i, count))
	}
	table, err := answers.Ask(ctx, db, `
select unnest(quantile_disc(offset_ns, [`+strings.Join(shares, ", ")+`]))
from `+p.trace.rows()+` as arriving
where offset_ns >= ?
    and offset_ns < ?`, p.args()...)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", p.trace.name, err)
	}
	cuts := []time.Duration{p.begin, p.end}
	for _, row := range table.Rows {
		cuts = append(cuts, time.Duration(row[0].(int64)))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var parts []part
	for i, cut := range cuts[1:] {
		parts = append(parts, part{p.trace, cuts[i], cut, p.origin})
	}
	return parts, nil
}

// requests yields the requests of all parts, numbered from 0. A part is read only when the one before it is used up.
func requests(ctx context.Context, w *warehouse.Warehouse, parts []part) iter.Seq2[plan.Request, error] {
	return func(yield func(plan.Request, error) bool) {
		var seq int64
		for _, p := range parts {
			read, err := p.read(ctx, w)
			if err != nil {
				yield(plan.Request{}, fmt.Errorf("source %s: %w", p.trace.name, err))
				return
			}
			for _, request := range read {
				request.Seq = seq
				seq++
				if !yield(request, nil) {
					return
				}
			}
		}
	}
}
