package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/warehouse"
)

func sourcesCommand() *cli.Command {
	return &cli.Command{
		Name:      "sources",
		Usage:     "list the traces; with a name, all that is known of one",
		ArgsUsage: "[NAME]",
		Description: `Example:
  tidemark sources azure-code`,
		Flags:  tabular(),
		Action: runSources,
	}
}

// brief are the columns that fit a terminal; a name, --csv and --json show all.
const briefSources = `
select
    source_name as name,
    format,
    rows_kept as rows,
    duration_s,
    mean_rate_per_s as rate_per_s,
    p50_input_tokens as p50_in,
    p50_output_tokens as p50_out
from marts.sources
order by source_name`

func runSources(c *cli.Context) error {
	if c.NArg() > 1 {
		return misuse("sources: one name, not %d", c.NArg())
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := sourcesTable(ctx, c, w)
		if err != nil {
			return err
		}
		return printTable(c, table)
	})
}

func sourcesTable(ctx context.Context, c *cli.Context, w *warehouse.Warehouse) (analysis.Table, error) {
	name := c.Args().First()
	switch {
	case name != "":
		return analysis.Source(ctx, w.DB(), name)
	case c.Bool("csv") || c.Bool("json"):
		return analysis.Query(ctx, w.DB(), "from marts.sources order by source_name")
	default:
		return analysis.Query(ctx, w.DB(), briefSources)
	}
}
