//go:build duckdb_arrow

package workload

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/profile"
)

const (
	// mostPairs is how many different pairs of lengths are kept exactly. In a trace with more, lengths above 100 that differ by less than
	// 1 % are merged, which bounds memory and changes no fitted distribution.
	mostPairs = 200_000
	// mostGaps is how many gaps between arrivals are kept, from the first on: a fit of their distribution needs no more.
	mostGaps = 1_000_000
)

// Lengths are the input and output lengths of a trace's requests as pairs, by hour of the day and in total, and the gaps between
// arrivals. The hour is UTC; for a trace with relative times it counts from the first arrival. Requests without prompt or output
// are left out, as in a plan.
func Lengths(ctx context.Context, db *sql.DB, sourceName string, window Window) (profile.Lengths, error) {
	t, err := traceOf(ctx, db, sourceName)
	if err != nil {
		return profile.Lengths{}, err
	}
	// Lengths do not depend on when a session starts; a window does.
	if t.isCollection && (t.isDated() || window != (Window{})) {
		if err := t.start(Starts{}); err != nil {
			return profile.Lengths{}, err
		}
	}
	s := t.span()
	p, _, _, err := t.within(window, s)
	if err != nil {
		return profile.Lengths{}, err
	}
	var l profile.Lengths
	if err = p.pairs(ctx, db, &l); err == nil {
		err = p.gaps(ctx, db, &l)
	}
	if err != nil {
		return l, fmt.Errorf("source %s: %w", sourceName, err)
	}
	if len(l.Pairs) == 0 {
		return l, hint.Errorf("source %s: no request with prompt and output between %s and %s", sourceName,
			cmp.Or(window.From, "its start"), cmp.Or(window.Until, "its end")).Hint("%s", s.String())
	}
	return l, nil
}

// sendable is the SQL for the requests of a part that can be replayed: those with a prompt and an output.
func (p part) sendable() string {
	return `
from ` + p.trace.rows() + ` as arriving
where offset_ns >= ?
    and offset_ns < ?
    and input_tokens > 0
    and output_tokens > 0`
}

// hourOf is the hour of the day in UTC; for relative times, of the day that begins with the trace.
const hourOf = `coalesce(date_part('hour', arrival_at at time zone 'UTC'), offset_ns // 3600000000000 % 24)::bigint`

// args are the bounds of a part, for the two placeholders of its queries.
func (p part) args() []any { return []any{int64(p.begin), int64(p.end)} }

// pairs reads the lengths hour by hour, merged where there are too many different ones.
func (p part) pairs(ctx context.Context, db *sql.DB, l *profile.Lengths) error {
	var different int64
	err := db.QueryRowContext(ctx, `
select count(*)
from (select distinct `+hourOf+`, input_tokens, output_tokens`+p.sendable()+`)`, p.args()...).Scan(&different)
	if err != nil {
		return err
	}
	// Merged lengths are represented by their mean, so that their sums stay exact.
	step := func(column string) string { return column }
	if different > mostPairs {
		step = func(column string) string {
			return fmt.Sprintf("case when %[1]s <= 100 then %[1]s else 100 + floor(ln(%[1]s / 100.0) / %[2]v)::bigint end", column, math.Log(1.01))
		}
	}
	err = warehouse.Each(ctx, db, `
select
    `+hourOf+` as hour,
    round(avg(input_tokens))::bigint as input,
    round(avg(output_tokens))::bigint as output,
    count(*) as requests`+p.sendable()+`
group by
    hour,
    `+step("input_tokens")+`,
    `+step("output_tokens")+`
order by
    hour,
    input,
    output`, p.args(), func(scan func(...any) error) error {
		var hour int
		var pair profile.Pair
		err := scan(&hour, &pair.Input, &pair.Output, &pair.Count)
		l.Hours[hour] = append(l.Hours[hour], pair)
		return err
	})
	l.Pairs = together(l.Hours[:])
	return err
}

// together adds up equal pairs of all hours, in the order of their lengths.
func together(hours [][]profile.Pair) []profile.Pair {
	all := slices.Concat(hours...)
	slices.SortFunc(all, func(a, b profile.Pair) int {
		return cmp.Or(a.Input-b.Input, a.Output-b.Output)
	})
	var sums []profile.Pair
	for _, pair := range all {
		if last := len(sums) - 1; last >= 0 && sums[last].Input == pair.Input && sums[last].Output == pair.Output {
			sums[last].Count += pair.Count
			continue
		}
		sums = append(sums, pair)
	}
	return sums
}

// gaps reads the differences between neighbouring arrivals.
func (p part) gaps(ctx context.Context, db *sql.DB, l *profile.Lengths) error {
	before := time.Duration(-1)
	return warehouse.Each(ctx, db, `
select offset_ns`+p.sendable()+`
order by offset_ns
limit `+fmt.Sprint(mostGaps+1), p.args(), func(scan func(...any) error) error {
		var offset time.Duration
		err := scan(&offset)
		if before >= 0 {
			l.GapsS = append(l.GapsS, (offset - before).Seconds())
		}
		before = offset
		return err
	})
}
