package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/warehouse"
)

func runsCommand() *cli.Command {
	return &cli.Command{
		Name:      "runs",
		Usage:     "list the runs; with one named, all that is known of it",
		ArgsUsage: "[RUN]",
		Description: `Example:
  tidemark runs --json`,
		Flags:  tabular(),
		Action: runRuns,
	}
}

const briefRuns = `
select
    run_id as run,
    measured_on,
    sent,
    failed,
    p99_ttft_s as p99_ttft_s,
    p99_tpot_s as p99_tpot_s,
    p99_lateness_s as p99_late_s,
    is_valid as valid
from marts.runs
order by run_id`

func runRuns(c *cli.Context) error {
	if c.NArg() > 1 {
		return misuse("runs: one run, not %d", c.NArg())
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		if c.NArg() == 1 {
			return showRun(ctx, c, w, c.Args().First())
		}
		query := briefRuns
		if c.Bool("csv") || c.Bool("json") {
			query = "from marts.runs order by run_id"
		}
		table, err := analysis.Query(ctx, w.DB(), query)
		if err != nil {
			return err
		}
		return printTable(c, table)
	})
}

func showRun(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, runID string) error {
	verdict, err := analysis.Judge(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	tell(c, "%s", verdict.FirstLine())
	table, err := analysis.Query(ctx, w.DB(), "from marts.runs where run_id = ?", runID)
	if err != nil {
		return err
	}
	return printTable(c, table)
}
