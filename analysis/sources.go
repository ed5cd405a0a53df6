package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"tidemark/internal/hint"
)

// What is known of an ingested source: facts for a reader, the shape of its arrivals, what a prefix cache would find in it, and what is
// odd about it (marts.audit). A source can be a trace, a collection of traces, or any other kind; each question simply has no rows for a
// kind that it does not apply to.

// everyName lists the names of all sources and collections, for the hint of an unknown one.
const everyName = `
select source_name as name
from staging.sources
union
select collection as name
from staging.sources
where collection is not null
order by name`

// Source is what is known of a trace, for a program: its row of marts.sources with the findings of marts.audit, as numbers with units in their
// names. For other kinds of sources and for a collection it is the facts of marts.source_facts, one per row. AuditOf has the same for a
// reader.
func Source(ctx context.Context, db *sql.DB, name string) (Table, error) {
	table, err := ask(ctx, db, `
select
    sources.*,
    coalesce((
        select list({subject: subject, is_alarm: is_alarm, requests: requests, found: found, meaning: meaning, remedy: remedy} order by seq)
        from marts.audit
        where source_name = $1
    ), []) as findings
from marts.sources
where sources.source_name = $1`, name)
	if err != nil || len(table.Rows) > 0 {
		return table, err
	}
	about, err := AuditOf(ctx, db, name)
	return about.Facts, err
}

// Audit is what is known of a source and what is odd about it, as tables for a reader: numbers are written in words already.
type Audit struct {
	Facts    Table // fact, value
	Windows  Table // how evenly its requests arrive, at several window widths; no rows for other sources than traces
	Caches   Table // the share of its prompts that a cache of a given size would hold; no rows without prefix blocks
	Findings Table // of marts.audit
	IsTrace  bool  // a trace or a collection of traces: only these are audited
}

// AuditOf gives everything that is known of a source of any kind, or of a collection. An unknown name is an error.
func AuditOf(ctx context.Context, db *sql.DB, name string) (Audit, error) {
	var a Audit
	for _, part := range []struct {
		into  *Table
		query string
	}{
		{&a.Facts, factsQuery}, {&a.Windows, windowsQuery}, {&a.Caches, cachesQuery}, {&a.Findings, findingsQuery},
	} {
		table, err := ask(ctx, db, part.query, name)
		if err != nil {
			return a, fmt.Errorf("source %s: %w", name, err)
		}
		*part.into = table
	}
	if len(a.Facts.Rows) == 0 {
		return a, unknown(ctx, db, "source", name, everyName, `add one with "tidemark ingest"`)
	}
	var isMetrics bool
	err := db.QueryRowContext(ctx, `
select coalesce(bool_or(kind = 'arrivals'), false), coalesce(bool_or(kind = 'metrics' and source_name = $1), false)
from staging.sources
where source_name = $1
    or collection = $1`, name).Scan(&a.IsTrace, &isMetrics)
	if err != nil || !isMetrics {
		return a, err
	}
	uses, err := ask(ctx, db, metricUsesQuery, name)
	a.Facts.Rows = append(a.Facts.Rows, uses.Rows...)
	return a, err
}

// metricUsesQuery says whether a plan can be made from a file of metrics. It is asked only for metrics, because it reads all their values, and
// there may be a hundred million.
const metricUsesQuery = `
select
    unnest(['set against', 'use']) as fact,
    unnest([
        case
            when earlier is not null then earlier || ', an earlier dump of the same server'
            when looks > 1 then 'its own first look at the server'
            else 'nothing: there is no earlier dump of the same server, and its counters since its start have no times'
        end || case when prompts > 0 or answers > 0 then '; ' || macros.count_text(greatest(coalesce(prompts, 0), coalesce(answers, 0))) || ' requests lie between' else '' end,
        case
            when prompts is null and answers is null then 'none for a plan: it has no histogram of the lengths of prompts and answers'
            when coalesce(prompts, 0) = 0 and coalesce(answers, 0) = 0 then 'none for a plan yet: ingest another dump of the same server, from before or after some traffic'
            when coalesce(prompts, 0) = 0 then 'none for a plan: it does not say how long prompts are'
            when coalesce(answers, 0) = 0 then 'none for a plan: it does not say how long answers are'
            when has_times then 'tidemark plan ' || macros.shell_word(source_name) || ' --output PLAN'
            else 'tidemark plan ' || macros.shell_word(source_name) || ' --request-rate R --duration 10m --output PLAN'
        end
    ]) as value
from marts.metric_uses
where source_name = $1`

// factsQuery has the facts in the order in which a reader wants them.
const factsQuery = `
select
    fact,
    value
from marts.source_facts
where source_name = $1
order by seq`

// windowsQuery compares the arrivals with a Poisson stream, whose index of dispersion is 1 at every width.
const windowsQuery = `
select
    width_s || ' s' as width,
    macros.count_text(windows) as windows,
    macros.figures(mean_requests) as mean,
    macros.count_text(peak_requests) as fullest,
    coalesce(macros.figures(dispersion_index), '-') as index
from marts.burstiness
where source_name = $1
    and windows > 0
order by width_s`

// cachesQuery leaves out cache sizes that find less than a twentieth of what an unlimited cache finds, or at most 5 % more than the next
// smaller one. The unlimited cache always has a row.
const cachesQuery = `
select
    coalesce(macros.count_text(capacity_blocks), 'no end') as blocks,
    coalesce(macros.count_text(capacity_tokens), '-') as tokens,
    macros.percent_text(reused_ratio) as found
from (
    select
        *,
        lag(reused_ratio) over (order by capacity_blocks nulls last) as smaller_ratio,
        max(reused_ratio) over (partition by true) as most_ratio
    from marts.reuse
    where source_name = $1
)
where capacity_blocks is null
    or reused_ratio >= 0.05 * most_ratio
    and reused_ratio > 1.05 * coalesce(smaller_ratio, 0)
order by capacity_blocks nulls last`

// findingsQuery lists alarms before things to know.
const findingsQuery = `
select
    subject,
    is_alarm,
    requests,
    found,
    meaning,
    remedy
from marts.audit
where source_name = $1
order by
    is_alarm desc,
    seq`

// Tick is the resolution of a trace's clock, as its arrival times show it. A trace whose times show no tick is an error, because its requests
// cannot be spread over one.
func Tick(ctx context.Context, db *sql.DB, name string) (time.Duration, error) {
	var tick sql.NullFloat64
	err := db.QueryRowContext(ctx, "select tick_s from marts.sources where source_name = ?", name).Scan(&tick)
	isMissing := errors.Is(err, sql.ErrNoRows) // a collection, whose sessions have a clock each
	switch {
	case err != nil && !isMissing:
		return 0, fmt.Errorf("source %s: %w", name, err)
	case isMissing || !tick.Valid:
		return 0, hint.Misuse("source %s: its clock shows no tick, so there is nothing to spread", name).Hint("leave --spread-ticks out")
	}
	return time.Duration(math.Round(tick.Float64 * float64(time.Second))), nil
}
