package week

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
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
	Agents  *Agents      `json:"agents,omitempty"`  // nil: no request names its session
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

// adder adds up the demand of a week, by queries/macros/demand.sql.
type adder struct {
	conn     *sql.Conn
	week     service.Week
	parts    []part // that reach into the week
	requests string // a query for its single requests, each counted once
	copied   []copies
}

// fewestForP99 is the number of values below which a p99 is withheld.
const fewestForP99 = 100

// binS is the length of the bins by the clock whose busiest decides how many replicas an hour needs, seconds.
const binS = 300

// newAdder finds which of the week's requests are counted in another source.
func newAdder(ctx context.Context, conn *sql.Conn, week service.Week, parts []part) (a adder, err error) {
	a = adder{conn: conn, week: week, parts: slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !p.reaches(week) })}
	single := slices.DeleteFunc(slices.Clone(a.parts), func(p part) bool { return p.isRates })
	a.requests = fmt.Sprintf("from macros.service_requests(%s, %s)", chosen(single), a.span())
	a.copied, err = a.findCopies(ctx, single)
	return a, err
}

// span is the week, as the last two arguments of a macro.
func (a adder) span() string {
	return fmt.Sprintf("'%s'::timestamptz, '%s'::timestamptz", a.week.Start().UTC().Format(time.RFC3339), a.week.End().UTC().Format(time.RFC3339))
}

// with is a query of the week's requests, which are read once however often it names them.
func (a adder) with(query string, args ...any) string {
	return fmt.Sprintf("with requests as materialized (%s)\n%s", a.requests, fmt.Sprintf(query, args...))
}

// chosen are some parts, and what of each the service file chose, for SQL.
func chosen(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, fmt.Sprintf("{'source_id': %d, 'model': %s, 'class': %s}", p.id, orNull(p.traffic.Model), orNull(p.traffic.Class)))
	}
	return "[" + strings.Join(all, ", ") + "]::struct(source_id bigint, model varchar, class varchar)[]"
}

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// addUp adds up what the parts hold of the week.
func (a adder) addUp(ctx context.Context) (d demand, err error) {
	rates := slices.DeleteFunc(slices.Clone(a.parts), func(p part) bool { return !p.isRates })
	var document string
	if err := a.conn.QueryRowContext(ctx, a.with(`, counts as materialized (from macros.service_counts(%s, %s)),
lengths as materialized (from macros.service_lengths('counts', %[1]s, %[2]s))
select to_json(demand)::varchar
from macros.service_demand('requests', 'counts', 'lengths', %[3]d) as demand`, chosen(rates), a.span(), int(a.week.End().Sub(a.week.Start()).Seconds()))).Scan(&document); err != nil {
		return d, err
	}
	read := struct {
		*demand
		Fullest *struct{ Minute, Requests int64 }                 `json:"fullest"`
		Cells   []struct{ Input, Output, Requests, Tokens int64 } `json:"cells"`
	}{demand: &d}
	if err := json.Unmarshal([]byte(document), &read); err != nil {
		return d, err
	}
	if f := read.Fullest; f != nil {
		d.Fullest = &Minute{Start: a.week.Start().Add(time.Duration(f.Minute) * time.Minute).UTC(), Requests: f.Requests}
	}
	edge := func(n int64) float64 { return math.Exp2(float64(n) / 2) }
	for _, c := range read.Cells {
		d.Cells = append(d.Cells, Cell{edge(c.Input), edge(c.Input + 1), edge(c.Output), edge(c.Output + 1), c.Requests, c.Tokens})
	}
	d.withholdBursts(a.parts)
	d.Copies = a.copied
	if d.Agents, err = a.agents(ctx); err != nil {
		return d, err
	}
	if len(rates) == 0 {
		d.Counted = nil
		return d, nil
	}
	d.Fullest = nil // the minute of what was counted is not known
	if len(d.Classes) == 1 && d.Classes[0].Name == "" {
		d.Classes = nil
	}
	d.mixLengths()
	return d, nil
}

// agents counts the week's sessions; nil where no request names one. A session that lies in two weeks counts in both.
func (a adder) agents(ctx context.Context) (*Agents, error) {
	var g Agents
	err := a.conn.QueryRowContext(ctx, a.with(`select
    count(distinct requests.session_key),
    count(*),
    count(details.think_s),
    quantile_cont(details.think_s, 0.5),
    quantile_cont(details.think_s, 0.9)
from requests
inner join raw.arrivals using (source_id, line)
left join raw.arrival_details as details using (source_id, line)
where arrivals.session_id is not null`)).Scan(&g.Sessions, &g.Rounds, &g.Waits, &g.P50WaitS, &g.P90WaitS)
	if err != nil || g.Sessions == 0 {
		return nil, err
	}
	return &g, nil
}

// withholdBursts leaves out how uneven the five minutes are of which a counter says less than what was spread over them between two looks: Poisson
// arrivals looked at every two minutes seem a quarter more even than they are.
func (d *demand) withholdBursts(parts []part) {
	var counters []int64
	for _, p := range parts {
		if p.format == formatCollected {
			counters = append(counters, p.id)
		}
	}
	for i := range d.Hours {
		if slices.ContainsFunc(d.Hours[i].SourceIDs, func(id int64) bool { return slices.Contains(counters, id) }) {
			d.Hours[i].Burst = nil
		}
	}
}

// mostClasses are shown one by one; the rest is added up.
const (
	mostClasses = 12
	restClasses = "others"
)
