package main

// The verb sources lists what was ingested, or audits one source. analysis.AuditOf has
// the audit; audit.go prints it.
//
// People get the columns that fit a terminal. Programs get all of them, because a
// script that breaks when a column is missing cannot widen its window.

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/terminal"
	"tidemark/internal/warehouse"
)

func sourcesCommand() *cli.Command {
	return &cli.Command{
		Name:      "sources",
		Usage:     "list what was ingested; with a name, audit that source",
		ArgsUsage: "[NAME]",
		Description: `Example:
  tidemark sources azure-code`,
		Flags:  withTableFlags(),
		Action: runSources,
	}
}

// briefTraces has the columns that fit a terminal; with a name, --csv or --json all
// are shown. The files of a collection are one row.
const briefTraces = `
select
    coalesce(files.collection, files.source_name) as name,
    case when any_value(files.collection) is null then any_value(files.format) else count(*) || ' ' || any_value(files.format) end as format,
    sum(files.rows_kept)::bigint as rows,
    case when count(*) = 1 then max(traces.duration_s) end as span_s,
    case when count(*) = 1 then max(traces.mean_rate_per_s) end as rate_per_s,
    coalesce(max(collections.p50_input_tokens), max(traces.p50_input_tokens)) as p50_in,
    coalesce(max(collections.p50_output_tokens), max(traces.p50_output_tokens)) as p50_out
from staging.sources as files
left join marts.sources as traces on traces.source_name = files.source_name
left join marts.collections on collections.collection = files.collection
where files.kind = 'arrivals'
group by name
order by name`

// briefOthers has the name last, because it may be long.
const briefOthers = `
select
    kind,
    format,
    rows_kept as rows,
    source_name as name
from staging.sources
where kind not in ('arrivals', 'run')
order by
    kind,
    name`

// allSources has all columns of traces, and for other sources those that apply.
const allSources = `
select
    files.kind,
    files.collection,
    files.licence,
    coalesce(traces.source_name, files.source_name) as source_name,
    files.format,
    files.rows_read,
    files.rows_kept,
    files.rows_rejected,
    traces.* exclude (source_name, format, rows_read, rows_kept, rows_rejected)
from staging.sources as files
left join marts.sources as traces on traces.source_name = files.source_name
where files.kind <> 'run'
order by files.source_name`

func runSources(c *cli.Context) error {
	name, err := optionalArgument(c, "name")
	if err != nil {
		return err
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		switch {
		case name == "" && isForPrograms(c):
			return printQuery(ctx, c, w, allSources)
		case name == "":
			return listSources(ctx, c, w)
		case isForPrograms(c):
			table, err := analysis.Source(ctx, w.DB(), name)
			if err != nil {
				return err
			}
			return printTable(c, table)
		}
		audit, err := analysis.AuditOf(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		return writeAudit(c.App.Writer, audit, terminal.Width(c.App.Writer))
	})
}

// listSources prints the traces, and then everything else.
func listSources(ctx context.Context, c *cli.Context, w *warehouse.Warehouse) error {
	traces, err := answers.Query(ctx, w.DB(), briefTraces)
	if err != nil {
		return err
	}
	others, err := answers.Query(ctx, w.DB(), briefOthers)
	if err != nil {
		return err
	}
	if len(traces.Rows) > 0 || len(others.Rows) == 0 {
		if err := printTable(c, traces); err != nil || len(others.Rows) == 0 {
			return err
		}
		fmt.Fprintln(c.App.Writer)
	}
	return printTable(c, others)
}
