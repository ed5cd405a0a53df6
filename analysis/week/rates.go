package week

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Demand that is known by counts alone: windows of time with how many requests came in each (raw.rate_windows, or two looks at a server's
// counters), and histograms of lengths. macros.counted_between spreads the counts over bins of five minutes; here they are added to what single
// requests say. What was counted across a gap is in no hour, and neither is what came in an hour that is covered by less than half.
//
//	rates.go         counts, coverage and tokens of each hour
//	ratelengths.go   lengths: quantiles and bins by interpolation inside a bucket
//	ratedraws.go     requests drawn from the lengths, for a rehearsal
//	ratenotes.go     what a reader must know of all this

// ratesHour is what was counted in an hour, without the single requests.
type ratesHour struct {
	Requests float64      `json:"requests"`
	Input    []lengthCell `json:"input,omitempty"`
	Output   []lengthCell `json:"output,omitempty"`
	Joint    []jointCell  `json:"joint,omitempty"` // their lengths are in Input and Output too
}

// weekCounts say of a week's counts what a reader must know.
type weekCounts struct {
	AcrossGaps float64        `json:"across_gaps"` // requests
	InPart     float64        `json:"in_part"`     // requests in hours that are covered by less than half
	IsCoarse   bool           `json:"is_coarse"`   // some windows are longer than five minutes
	IsGuessed  bool           `json:"is_guessed"`  // some tokens come from the middles of buckets
	IsApart    bool           `json:"is_apart"`    // some prompts and answers are counted apart
	IsOpen     bool           `json:"is_open"`     // a bucket that counted something has no upper bound
	Unknown    int            `json:"unknown"`     // hours without tokens
	Refused    float64        `json:"refused"`     // requests that an engine refused, and said so
	Middle     *[2]lengthCell `json:"middle"`      // the buckets of the median prompt and of the median answer
}

// ratesOf adds what the parts counted in the week. It must come before the peaks and after the hours of single requests.
func (a adder) ratesOf(ctx context.Context, d *demand, parts []part) error {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !p.isRates || !p.reaches(a.week) })
	if err := a.takeCounts(ctx, parts); err != nil || len(parts) == 0 {
		return err
	}
	d.Counted = &weekCounts{}
	for _, step := range []func(context.Context, *demand) error{a.leaveOut, a.takeRefused, a.countedHours, a.countedCells, a.countedTokens} {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	slices.SortFunc(d.Hours, func(a, b demandHour) int { return cmp.Compare(a.Place, b.Place) })
	return nil
}

// takeCounts copies the counts of the week into a table of the connection, and the cells of its lengths into another one.
func (a adder) takeCounts(ctx context.Context, parts []part) error {
	ids, chosen, args := []string(nil), []string(nil), []any(nil)
	for _, p := range parts {
		ids = append(ids, fmt.Sprint(p.id))
		choice := fmt.Sprintf("source_id = %d", p.id)
		for _, class := range []string{p.traffic.Class, p.traffic.Model} { // windows name either as their class
			if class != "" {
				choice, args = choice+" and class = ?", append(args, class)
			}
		}
		chosen = append(chosen, choice)
	}
	if _, err := a.conn.ExecContext(ctx, `create or replace temp table week_counts (
	source_id bigint, class varchar, client varchar, figure varchar, priority integer, is_gap boolean, hour bigint, bin bigint, amount double,
	covered_s double, is_coarse boolean, is_chosen boolean
)`); err != nil || len(ids) == 0 {
		return err
	}
	period := fmt.Sprintf("[%s]::bigint[], '%s'::timestamptz, '%s'::timestamptz", strings.Join(ids, ", "), a.week.Start().UTC().Format(time.RFC3339), a.week.End().UTC().Format(time.RFC3339))
	if _, err := a.conn.ExecContext(ctx, fmt.Sprintf(`insert into week_counts by name
select *, bin // %d as hour, coalesce(%s, false) as is_chosen
from macros.counted_between(%s)`, 3600/binS, strings.Join(chosen, " or "), period), args...); err != nil {
		return err
	}
	_, err := a.conn.ExecContext(ctx, "create or replace temp table week_cells as select * from macros.counted_lengths("+period+")")
	return err
}

// leaveOut removes gaps and what no covered hour holds. Of a figure that a source says in two ways each hour keeps the first that covers it.
// Bins without a window get a row, so that nobody takes them for empty.
func (a adder) leaveOut(ctx context.Context, d *demand) error {
	if err := a.coverHours(ctx); err != nil {
		return err
	}
	if err := a.countLeftOut(ctx, d.Counted); err != nil {
		return err
	}
	_, err := a.conn.ExecContext(ctx, fmt.Sprintf(`delete from week_counts
where is_gap
	or not exists (from week_covered as covered where covered.source_id = week_counts.source_id and covered.figure = week_counts.figure
		and covered.hour = week_counts.hour and covered.priority = week_counts.priority);
insert into week_counts (source_id, figure, priority, is_gap, hour, bin, amount, covered_s, is_coarse, is_chosen)
select source_id, figure, priority, false, hour, bin, 0, 0, true, true
from (
	select *, unnest(range(hour * %[1]d, (hour + 1) * %[1]d)) as bin
	from week_covered
	where figure = 'requests'
) as bins
anti join week_counts using (source_id, figure, bin)`, 3600/binS))
	return err
}

// takeRefused makes requests that an engine refused arrivals of their hour. It counts them apart, and nobody knows how long they were.
func (a adder) takeRefused(ctx context.Context, d *demand) error {
	if err := a.conn.QueryRowContext(ctx, "select coalesce(sum(amount), 0) from week_counts where figure = 'rejections' and is_chosen").Scan(&d.Counted.Refused); err != nil {
		return err
	}
	_, err := a.conn.ExecContext(ctx, "update week_counts set figure = 'requests' where figure = 'rejections'")
	return err
}

// coverHours finds the hours that each source covers. An hour whose requests are not known has no tokens either.
func (a adder) coverHours(ctx context.Context) error {
	_, err := a.conn.ExecContext(ctx, fmt.Sprintf(`create or replace temp table week_covered as
with bins as (
	select source_id, figure, priority, hour, bin, max(covered_s) as covered_s
	from week_counts
	where not is_gap
	group by all
),

hours as (
	select source_id, figure, hour, priority
	from bins
	group by source_id, figure, hour, priority
	having sum(covered_s) >= %d - 1e-3 -- instants are rounded
	qualify priority = min(priority) over (partition by source_id, figure, hour)
)

select *
from hours
where exists (from hours as counted where counted.source_id = hours.source_id and counted.hour = hours.hour and counted.figure = 'requests')`,
		int(fewestCovered.Seconds())))
	return err
}

// countLeftOut counts the requests that are in no hour.
func (a adder) countLeftOut(ctx context.Context, c *weekCounts) error {
	if err := a.conn.QueryRowContext(ctx, `select coalesce(sum(amount), 0)
from (
	select *
	from week_counts
	where figure = 'requests' and is_chosen and is_gap
	qualify priority = min(priority) over (partition by source_id)
)`).Scan(&c.AcrossGaps); err != nil {
		return err
	}
	return a.conn.QueryRowContext(ctx, `select coalesce(sum(amount), 0)
from (
	select *
	from week_counts
	anti join week_covered using (source_id, figure, hour)
	where figure = 'requests' and is_chosen and not is_gap
	qualify priority = min(priority) over (partition by source_id, hour)
)`).Scan(&c.InPart)
}

// fewestCovered of an hour must lie in ordinary windows, else the hour is not covered.
const fewestCovered = 30 * time.Minute

// countedHours adds the requests of each hour. A covered hour in which nothing was counted is there too.
func (a adder) countedHours(ctx context.Context, d *demand) error {
	rows, err := a.conn.QueryContext(ctx, `select hour, list_sort(list(distinct source_id)), coalesce(sum(amount) filter (where is_chosen), 0),
	coalesce(bool_or(is_coarse and covered_s > 0), false)
from week_counts
where figure = 'requests'
group by hour
order by hour`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var place int
		var ids []any
		var isCoarse bool
		r := &ratesHour{}
		if err := rows.Scan(&place, &ids, &r.Requests, &isCoarse); err != nil {
			return err
		}
		d.Counted.IsCoarse = d.Counted.IsCoarse || isCoarse
		h := d.hour(place)
		h.Rates = r
		h.Requests += int64(math.Round(r.Requests))
		for _, id := range ids {
			h.SourceIDs = append(h.SourceIDs, id.(int64))
		}
		slices.Sort(h.SourceIDs)
	}
	return rows.Err()
}

// hour of that place, added if it is new.
func (d *demand) hour(place int) *demandHour {
	i := slices.IndexFunc(d.Hours, func(h demandHour) bool { return h.Place == place })
	if i < 0 {
		i = len(d.Hours)
		d.Hours = append(d.Hours, demandHour{Place: place})
	}
	return &d.Hours[i]
}

// tokensOf is a direction of one hour of one source.
type tokensOf struct {
	source int64
	hour   int
	figure string
}

// countedTokens adds the tokens of each hour: those that a source counted, else those of the middles of the buckets. Without either
// they are not known, and the hour says so.
func (a adder) countedTokens(ctx context.Context, d *demand) error {
	rows, err := a.conn.QueryContext(ctx, `with hours as (
	select source_id, hour, sum(amount) filter (where figure = 'requests' and is_chosen) as requests,
		sum(amount) filter (where figure = 'input_tokens' and is_chosen) as input_tokens,
		sum(amount) filter (where figure = 'output_tokens' and is_chosen) as output_tokens
	from week_counts
	group by all
),

guessed as (
	select source_id, hour, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
	from week_lengths
	group by all
)

select hours.hour, hours.requests > 0,
	coalesce(hours.input_tokens, guessed.input_tokens), coalesce(hours.output_tokens, guessed.output_tokens),
	hours.input_tokens is null and guessed.input_tokens is not null or hours.output_tokens is null and guessed.output_tokens is not null
from hours
left join guessed on guessed.source_id = hours.source_id and guessed.hour = hours.hour
order by hours.hour, hours.source_id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var place int
		var isBusy, isGuessed *bool
		var input, output *float64
		if err := rows.Scan(&place, &isBusy, &input, &output, &isGuessed); err != nil {
			return err
		}
		h := d.hour(place)
		switch {
		case input != nil && output != nil:
			h.Input, h.Output = h.Input+int64(math.Round(*input)), h.Output+int64(math.Round(*output))
			d.Counted.IsGuessed = d.Counted.IsGuessed || *isGuessed
		case isBusy != nil && *isBusy && !h.LacksTokens:
			h.LacksTokens = true
			d.Counted.Unknown++
		}
	}
	return rows.Err()
}

// countedClasses adds what was counted to the classes of single requests. Where nothing has a class there is none.
func (a adder) countedClasses(ctx context.Context, d *demand) error {
	if d.Counted == nil {
		return nil
	}
	rows, err := a.conn.QueryContext(ctx, `with counts as (
	select class, sum(amount) filter (where figure = 'requests') as requests, sum(amount) filter (where figure = 'input_tokens') as input_tokens,
		sum(amount) filter (where figure = 'output_tokens') as output_tokens
	from week_counts
	where is_chosen
	group by class
),

guessed as (
	select class, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
	from week_lengths
	group by class
)

select coalesce(counts.class, ''), round(counts.requests)::bigint, round(coalesce(counts.input_tokens, guessed.input_tokens, 0))::bigint,
	round(coalesce(counts.output_tokens, guessed.output_tokens, 0))::bigint
from counts
left join guessed on guessed.class is not distinct from counts.class
where counts.requests > 0
order by 4 desc, 1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Class
		if err := rows.Scan(&c.Name, &c.Requests, &c.InputTokens, &c.OutputTokens); err != nil {
			return err
		}
		d.addClass(c)
	}
	if len(d.Classes) == 1 && d.Classes[0].Name == "" {
		d.Classes = nil
	}
	slices.SortStableFunc(d.Classes, func(a, b Class) int { return cmp.Compare(b.OutputTokens, a.OutputTokens) })
	return rows.Err()
}

// addClass adds to the class of that name, or to the others where too many are shown already.
func (d *demand) addClass(c Class) {
	at := func(name string) int {
		return slices.IndexFunc(d.Classes, func(o Class) bool { return o.Name == name })
	}
	i := at(c.Name)
	if i < 0 && len(d.Classes) >= mostClasses {
		c.Name = restClasses
		i = at(c.Name)
	}
	if i < 0 {
		d.Classes = append(d.Classes, c)
		return
	}
	into := &d.Classes[i]
	into.Requests, into.InputTokens, into.OutputTokens = into.Requests+c.Requests, into.InputTokens+c.InputTokens, into.OutputTokens+c.OutputTokens
}

// countedClassesOfHours adds the requests of each class in each hour.
func (a adder) countedClassesOfHours(ctx context.Context, d *demand) error {
	if d.Counted == nil {
		return nil
	}
	rows, err := a.conn.QueryContext(ctx, `select hour, coalesce(class, ''), round(sum(amount))::bigint
from week_counts
where figure = 'requests' and is_chosen
group by all
order by all`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var place int
		var class string
		var requests int64
		if err := rows.Scan(&place, &class, &requests); err != nil {
			return err
		}
		d.hour(place).Classes[class] += requests
	}
	return rows.Err()
}
