package week

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/week/service"
)

// Demand of one week, as it is kept: it is added up again only when its sources change.
type demand struct {
	Hours   []demandHour `json:"hours"`
	Fullest *Minute      `json:"fullest"`
	Cells   []Cell       `json:"cells"`
	Classes []Class      `json:"classes"`
	Input   lengths      `json:"input"`
	Output  lengths      `json:"output"`
	Copies  []copies     `json:"copies"`
	Counted *weekCounts  `json:"counted,omitempty"` // nil: all of it is single requests
}

// demandHour is what arrived in the hour of that place in the week. An hour that a source covers and nothing arrived in has no row: whether
// it is empty or missing is the coverage's to say.
type demandHour struct {
	Place     int      `json:"place"`
	SourceIDs []int64  `json:"source_ids"` // with a row in it
	Requests  int64    `json:"requests"`
	Failed    int64    `json:"failed_requests"` // of these: failed or without an answer
	Input     int64    `json:"input_tokens"`
	Output    int64    `json:"output_tokens"`
	Peak      float64  `json:"peak_rate_per_s"`
	Burst     *float64 `json:"burst_ratio"`
	P50Input  *float64 `json:"p50_input_tokens"`
	P99Input  *float64 `json:"p99_input_tokens"`
	P50Output *float64 `json:"p50_output_tokens"`
	P99Output *float64 `json:"p99_output_tokens"`

	InputBins  [][2]int64 `json:"input_bins"` // lengths: 32 log2 tokens, rounded, and the requests there
	OutputBins [][2]int64 `json:"output_bins"`

	Classes map[string]int64 `json:"classes"` // requests of each

	Rates       *ratesHour `json:"rates,omitempty"`        // the part of it that was counted
	LacksTokens bool       `json:"lacks_tokens,omitempty"` // a source that covers the hour says no tokens
}

// counts says that requests of a source were counted: not all of them are copies.
func (d demand) counts(sourceID int64) bool {
	return slices.ContainsFunc(d.Hours, func(h demandHour) bool { return slices.Contains(h.SourceIDs, sourceID) })
}

// failed are the requests that failed or have no answer.
func (d demand) failed() (n int64) {
	for _, h := range d.Hours {
		n += h.Failed
	}
	return n
}

// adder adds up the demand of a week. Its tables live on one connection.
type adder struct {
	conn *sql.Conn
	week service.Week
}

// fewestForP99 is the number of values below which a p99 is withheld.
const fewestForP99 = 100

// addUp adds up what the parts hold of the week.
func addUp(ctx context.Context, conn *sql.Conn, week service.Week, parts []part) (d demand, err error) {
	a, copied, err := newAdder(ctx, conn, week, parts)
	if err != nil {
		return d, err
	}
	d.Copies = copied
	for _, step := range []func(context.Context, *demand) error{
		a.hours, func(ctx context.Context, d *demand) error { return a.ratesOf(ctx, d, parts) }, a.peaks, a.fullest, a.cells, a.classes, a.classesOfHours,
		a.countedClasses, a.countedClassesOfHours, a.lengths, a.lengthsOfHours, a.mixLengths,
	} {
		if err := step(ctx, &d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// newAdder fills the table of the week's requests, each counted once.
func newAdder(ctx context.Context, conn *sql.Conn, week service.Week, parts []part) (a adder, copied []copies, err error) {
	a = adder{conn, week}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.isRates || !p.reaches(week) })
	if err := a.take(ctx, parts); err != nil {
		return a, nil, err
	}
	copied, err = a.dropCopies(ctx, parts)
	return a, copied, err
}

// take copies the requests of the week into a table of the connection.
func (a adder) take(ctx context.Context, parts []part) error {
	ids, chosen, args := []string{"null"}, []string{"false"}, []any{}
	for _, p := range parts {
		ids = append(ids, fmt.Sprint(p.id))
		choice := fmt.Sprintf("source_id = %d", p.id)
		if p.traffic.Model != "" {
			choice, args = choice+" and model = ?", append(args, p.traffic.Model)
		}
		if p.traffic.Class != "" {
			choice, args = choice+" and class = ?", append(args, p.traffic.Class)
		}
		chosen = append(chosen, choice)
	}
	_, err := a.conn.ExecContext(ctx, fmt.Sprintf(`create or replace temp table week_rows as
select
	source_id,
	line,
	at_ns - %d as since_ns,
	input_tokens::integer as input_tokens,
	output_tokens::integer as output_tokens,
	coalesce(class, model) as class,
	session_key,
	is_measured
from macros.arrivals_between([%s]::bigint[], '%s'::timestamptz, '%s'::timestamptz)
where %s`, a.week.Start().UnixNano(), strings.Join(ids, ", "), a.week.Start().UTC().Format(time.RFC3339), a.week.End().UTC().Format(time.RFC3339),
		strings.Join(chosen, " or ")), args...)
	return err
}

func (a adder) hours(ctx context.Context, d *demand) error {
	rows, err := a.conn.QueryContext(ctx, fmt.Sprintf(`select
	since_ns // 3_600_000_000_000 as hour,
	list_sort(list(distinct source_id)),
	count(*),
	count(*) filter (where not is_measured),
	sum(input_tokens)::bigint,
	sum(output_tokens)::bigint,
	quantile_cont(input_tokens, 0.5) filter (where is_measured),
	case when count(*) filter (where is_measured) >= %[1]d then quantile_cont(input_tokens, 0.99) filter (where is_measured) end,
	quantile_cont(output_tokens, 0.5) filter (where is_measured),
	case when count(*) filter (where is_measured) >= %[1]d then quantile_cont(output_tokens, 0.99) filter (where is_measured) end
from week_rows
group by hour
order by hour`, fewestForP99))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var h demandHour
		var ids []any
		if err := rows.Scan(&h.Place, &ids, &h.Requests, &h.Failed, &h.Input, &h.Output, &h.P50Input, &h.P99Input, &h.P50Output, &h.P99Output); err != nil {
			return err
		}
		for _, id := range ids {
			h.SourceIDs = append(h.SourceIDs, id.(int64))
		}
		d.Hours = append(d.Hours, h)
	}
	return rows.Err()
}

// binS is the length of the bins by the clock whose busiest decides how many replicas an hour needs, seconds.
const binS = 300

// peaks fills the busiest five minutes and the burstiness of each hour. A bin without requests counts in the burstiness; one whose count is
// not known, or only as the mean of a longer window, does not.
func (a adder) peaks(ctx context.Context, d *demand) error {
	rows, err := a.conn.QueryContext(ctx, fmt.Sprintf(`with bins as (
	select since_ns // 3_600_000_000_000 as hour, since_ns // %[1]d_000_000_000 as bin, count(*)::double as requests, false as is_coarse
	from week_rows
	group by all
	union all
	select hour, bin, coalesce(sum(amount) filter (where is_chosen), 0) as requests, bool_or(is_coarse) or max(covered_s) < %[1]d - 1 as is_coarse
	from week_counts
	where figure = 'requests'
	group by source_id, hour, bin
),

added as (
	select hour, bin, sum(requests) as requests, bool_or(is_coarse) as is_coarse
	from bins
	group by all
),

sums as (
	select hour, max(requests) as most, coalesce(sum(requests) filter (where not is_coarse), 0) as requests,
		coalesce(sum(requests * requests) filter (where not is_coarse), 0) as squares, least(%[2]d, %[3]d - %[2]d * hour) - count(*) filter (where is_coarse) as bins
	from added
	group by hour
)

select hour, most / %[1]d, case when requests > 0 and bins >= 2 then (squares - requests * requests / bins) / (bins - 1) / (requests / bins) end
from sums
order by hour`, binS, 3600/binS, int(a.week.End().Sub(a.week.Start()).Seconds())/binS))
	if err != nil {
		return err
	}
	defer rows.Close()
	for place := 0; rows.Next(); place++ {
		var hour int
		h := &d.Hours[place] // the same hours in the same order
		if err := rows.Scan(&hour, &h.Peak, &h.Burst); err != nil {
			return err
		}
	}
	return rows.Err()
}

// fullest finds the minute with the most requests, where the minute of each is known.
func (a adder) fullest(ctx context.Context, d *demand) error {
	if d.Counted != nil {
		return nil
	}
	var minute, requests int64
	err := a.conn.QueryRowContext(ctx, `select since_ns // 60_000_000_000 as minute, count(*) as requests
from week_rows
group by minute
order by requests desc, minute
limit 1`).Scan(&minute, &requests)
	if err == sql.ErrNoRows {
		return nil
	}
	d.Fullest = &Minute{Start: a.week.Start().Add(time.Duration(minute) * time.Minute).UTC(), Requests: requests}
	return err
}

// mostClasses are shown one by one; the rest is added up.
const (
	mostClasses = 12
	restClasses = "others"
)

func (a adder) classes(ctx context.Context, d *demand) error {
	rows, err := a.conn.QueryContext(ctx, fmt.Sprintf(`select case when place <= %d then class else '%s' end as class, sum(requests)::bigint, sum(input)::bigint, sum(output)::bigint
from (
	select coalesce(class, '') as class, count(*) as requests, sum(input_tokens) as input, sum(output_tokens) as output,
		row_number() over (order by sum(output_tokens) desc, coalesce(class, '')) as place
	from week_rows
	group by 1
) as classes
group by 1
order by min(place)`, mostClasses, restClasses))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Class
		if err := rows.Scan(&c.Name, &c.Requests, &c.InputTokens, &c.OutputTokens); err != nil {
			return err
		}
		d.Classes = append(d.Classes, c)
	}
	return rows.Err()
}

// classesOfHours fills the requests of each class in each hour, so that two weeks can be compared over the hours that both cover.
func (a adder) classesOfHours(ctx context.Context, d *demand) error {
	place := map[int]*demandHour{}
	for i := range d.Hours {
		d.Hours[i].Classes = map[string]int64{}
		place[d.Hours[i].Place] = &d.Hours[i]
	}
	rows, err := a.conn.QueryContext(ctx, `select since_ns // 3_600_000_000_000 as hour, coalesce(class, ''), count(*)
from week_rows
group by all`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var hour int
		var class string
		var requests int64
		if err := rows.Scan(&hour, &class, &requests); err != nil {
			return err
		}
		place[hour].Classes[class] = requests
	}
	return rows.Err()
}
