package week

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/show"
)

// The same requests in two sources are counted once. Exact copies have the same instants and lengths. Copies by another clock, or with whole
// seconds, have the same lengths in the same order at a nearly constant offset; these are looked for where no exact ones are found. That must not
// take different traffic for copies, so:
//
//	a sample    of one source's rows is looked up in the other, within two minutes: nine tenths must be found about one offset, and fewer than half
//	            about any other, else the lengths tell too little (a load test with one length is everywhere alike)
//	all rows    where the two overlap are then paired at that offset, each once: 99 % of the smaller side's, and at least 200

// copies are rows of one source that another one holds as well; they were counted once.
type copies struct {
	SourceID int64   `json:"source_id"`
	Of       int64   `json:"of"`
	Rows     int64   `json:"rows"`
	OffsetS  float64 `json:"offset_s,omitempty"` // of its clock, ahead of the other's
}

func (c copies) note(name, of string) string {
	text := fmt.Sprintf("%s of %s are in %s as well", counting(int(c.Rows), "request"), name, of)
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

const (
	// fewestCopies are rows that two sources must share before they are taken for copies; in less, chance or a coarse clock suffices.
	fewestCopies = 10

	mostOffsetS   = 120
	offsetJitterS = 1 // of whole seconds beside a finer clock

	fewestShifted = 200
	leastShifted  = 0.99
	sampleShifted = 400
	leastSampled  = 0.9
	mostElsewhere = 0.5
)

// dropCopies removes rows that an earlier source holds as well.
func (a adder) dropCopies(ctx context.Context, parts []part) (all []copies, err error) {
	for j, later := range parts {
		for _, earlier := range parts[:j] {
			if earlier.id == later.id || !earlier.overlaps(later) {
				continue
			}
			c := copies{SourceID: later.id, Of: earlier.id}
			if c.Rows, err = a.dropExact(ctx, earlier, later); err == nil && c.Rows == 0 {
				c.Rows, c.OffsetS, err = a.dropShifted(ctx, earlier, later)
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

// dropExact removes rows of the same instants and lengths, if these are at least half of the rows of one of the two where they overlap.
func (a adder) dropExact(ctx context.Context, earlier, later part) (rows int64, err error) {
	if err := a.conn.QueryRowContext(ctx, fmt.Sprintf(`create or replace temp table week_copies as
with span as (
	select greatest(min(since_ns) filter (where source_id = %[1]d), min(since_ns) filter (where source_id = %[2]d)) as from_ns,
		least(max(since_ns) filter (where source_id = %[1]d), max(since_ns) filter (where source_id = %[2]d)) as until_ns
	from week_rows
),

numbered as (
	select rowid as place, source_id, since_ns, input_tokens, output_tokens,
		row_number() over (partition by source_id, since_ns, input_tokens, output_tokens order by line) as nth
	from week_rows
	cross join span
	where source_id in (%[1]d, %[2]d) and since_ns between from_ns and until_ns
)

select copy.place, (select least(count(*) filter (where source_id = %[1]d), count(*) filter (where source_id = %[2]d)) from numbered) as fewer
from numbered as original
inner join numbered as copy using (since_ns, input_tokens, output_tokens, nth)
where original.source_id = %[1]d and copy.source_id = %[2]d;
select case when count(*) >= %[3]d and 2 * count(*) >= any_value(fewer) then count(*) else 0 end from week_copies`, earlier.id, later.id, fewestCopies)).Scan(&rows); err != nil {
		return 0, err
	}
	return rows, a.dropIf(ctx, rows > 0)
}

func (a adder) dropIf(ctx context.Context, areCopies bool) error {
	if !areCopies {
		return nil
	}
	_, err := a.conn.ExecContext(ctx, "delete from week_rows where rowid in (select place from week_copies)")
	return err
}

// side is what one of two sources has in the week.
type side struct {
	id          int64
	rows        int64
	first, last int64 // nanoseconds since the week's start
}

// dropShifted removes rows that an earlier source holds at a nearly constant offset. The offset is how far the later one's clock is ahead.
func (a adder) dropShifted(ctx context.Context, earlier, later part) (rows int64, offsetS float64, err error) {
	sides, err := a.sides(ctx, earlier.id, later.id)
	if err != nil || len(sides) < 2 || sides[0].rows < fewestShifted {
		return 0, 0, err
	}
	aheadS, isFound, err := a.findOffset(ctx, sides)
	if err != nil || !isFound {
		return 0, 0, err
	}
	if rows, err = a.pairAt(ctx, sides, aheadS, later.id); err != nil || rows == 0 {
		return 0, 0, err
	}
	if err := a.dropIf(ctx, true); err != nil {
		return 0, 0, err
	}
	offsetS = aheadS
	if sides[0].id == later.id {
		offsetS = -aheadS
	}
	outside, err := a.dropOutside(ctx, earlier, later, offsetS)
	return rows + outside, offsetS, err
}

// sides are the two sources, the one with fewer rows first; a source without rows is left out.
func (a adder) sides(ctx context.Context, ids ...int64) (all []side, err error) {
	rows, err := a.conn.QueryContext(ctx, `select source_id, count(*), min(since_ns), max(since_ns)
from week_rows
where list_contains(`+list(ids)+`, source_id)
group by source_id
order by 2, 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s side
		if err := rows.Scan(&s.id, &s.rows, &s.first, &s.last); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// findOffset looks a sample of the first side up in the second one, and says how far that one's clock is ahead. A window is two seconds
// wide, and windows begin every second.
func (a adder) findOffset(ctx context.Context, sides []side) (aheadS float64, isFound bool, err error) {
	fewer, more := sides[0], sides[1]
	rows, err := a.conn.QueryContext(ctx, fmt.Sprintf(`with sample as (
	select rowid as place, since_ns, input_tokens, output_tokens, unnest(range(since_ns // %[5]d_000_000_000 - 1, since_ns // %[5]d_000_000_000 + 2)) as stretch
	from (
		select rowid, since_ns, input_tokens, output_tokens
		from week_rows
		where source_id = %[1]d and since_ns between %[3]d and %[4]d
		order by hash(line)
		limit %[6]d
	)
),

pairs as (
	select sample.place, (other.since_ns - sample.since_ns) / 1e9 as ahead_s
	from sample
	inner join week_rows as other
		on other.input_tokens = sample.input_tokens
		and other.output_tokens = sample.output_tokens
		and other.since_ns // %[5]d_000_000_000 = sample.stretch
	where other.source_id = %[2]d and abs(other.since_ns - sample.since_ns) <= %[5]d_000_000_000
)

select window_s, count(distinct place), median(ahead_s), (select count(distinct place) from sample)
from (
	select *, unnest([floor(ahead_s), floor(ahead_s) - 1]) as window_s
	from pairs
)
group by window_s
order by window_s`, fewer.id, more.id, max(fewer.first, more.first), min(fewer.last, more.last), mostOffsetS, sampleShifted))
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	type window struct{ at, found, aheadS, of float64 }
	var all []window
	var best window
	for rows.Next() {
		var w window
		if err := rows.Scan(&w.at, &w.found, &w.aheadS, &w.of); err != nil {
			return 0, false, err
		}
		if w.found > best.found {
			best = w
		}
		all = append(all, w)
	}
	const apart = 5 // seconds between windows of which one may be the offset and the other is chance
	isAlike := slices.ContainsFunc(all, func(w window) bool { return math.Abs(w.at-best.at) >= apart && w.found >= mostElsewhere*w.of })
	return best.aheadS, best.found > 0 && best.found >= leastSampled*best.of && !isAlike, rows.Err()
}

// pairAt pairs the rows of two sides, of which the second one's clock is ahead, and writes the later source's paired rows into week_copies. Rows of the same
// lengths are paired in order within stretches in which neighbours are at most the jitter apart. It returns 0 where too few have a pair.
func (a adder) pairAt(ctx context.Context, sides []side, aheadS float64, laterID int64) (rows int64, err error) {
	fewer, more := sides[0], sides[1]
	ahead, jitter := int64(math.Round(aheadS*1e9)), int64(offsetJitterS*1e9)
	from, until := max(fewer.first, more.first-ahead)-jitter, min(fewer.last, more.last-ahead)+jitter
	err = a.conn.QueryRowContext(ctx, fmt.Sprintf(`create or replace temp table week_copies as
with shifted as (
	select rowid as place, line, source_id, input_tokens, output_tokens, since_ns - case when source_id = %[2]d then %[3]d else 0 end as at_ns
	from week_rows
	where source_id in (%[1]d, %[2]d) and at_ns between %[5]d and %[6]d
),

steps as (
	select *, coalesce(at_ns - lag(at_ns) over (partition by input_tokens, output_tokens order by at_ns), %[4]d) >= %[4]d as is_step
	from shifted
),

stretches as (
	select *, count(*) filter (where is_step) over (partition by input_tokens, output_tokens order by at_ns) as stretch
	from steps
),

numbered as (
	select *, row_number() over (partition by source_id, input_tokens, output_tokens, stretch order by at_ns, line) as nth
	from stretches
)

select case when %[7]d = %[1]d then one.place else other.place end as place,
	(select least(count(*) filter (where source_id = %[1]d), count(*) filter (where source_id = %[2]d)) from shifted) as fewer
from numbered as one
inner join numbered as other using (input_tokens, output_tokens, stretch, nth)
where one.source_id = %[1]d and other.source_id = %[2]d and abs(one.at_ns - other.at_ns) <= %[4]d;
select case when count(*) >= %[8]d and count(*) >= %[9]g * any_value(fewer) then count(*) else 0 end from week_copies`,
		fewer.id, more.id, ahead, jitter, from, until, laterID, fewestShifted, leastShifted)).Scan(&rows)
	return rows, err
}

// dropOutside removes copies that lie in this week only by the later source's clock: the earlier one has them in the week before or after.
func (a adder) dropOutside(ctx context.Context, earlier, later part, offsetS float64) (rows int64, err error) {
	offset, start := int64(math.Round(offsetS*1e9)), a.week.Start()
	result, err := a.conn.ExecContext(ctx, fmt.Sprintf(`delete from week_rows
where source_id = %[1]d and since_ns - %[2]d not between 0 and %[3]d - 1 and since_ns - %[2]d between %[4]d and %[5]d`,
		later.id, offset, a.week.End().Sub(start).Nanoseconds(), earlier.first.Sub(start).Nanoseconds(), earlier.last.Sub(start).Nanoseconds()))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
