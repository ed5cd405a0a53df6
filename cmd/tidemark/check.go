package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "run every check; exits 1 when a row breaks a truth",
		Description: `Example:
  tidemark check --json`,
		Flags:  tabular(),
		Action: runCheck,
	}
}

// runCheck exits with 1 if a check finds rows that break it.
func runCheck(c *cli.Context) error {
	if c.NArg() > 0 {
		return hint.Misuse("check: takes no arguments")
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		results, err := analysis.RunChecks(ctx, w.DB())
		if err != nil {
			return err
		}
		table := analysis.Table{Columns: []analysis.Column{{Name: "check"}, {Name: "breaking_rows"}, {Name: "truth"}}}
		broken := 0
		for _, result := range results {
			table.Rows = append(table.Rows, []any{result.Name, result.Rows, result.Comment})
			if result.Rows > 0 {
				broken++
			}
		}
		if err := printTable(c, table); err != nil {
			return err
		}
		if broken > 0 {
			return exitError{exitNotMet, hint.Errorf("%d of %d checks broken", broken, len(results)).
				Hint(`see the rows: tidemark sql "from checks.NAME"`)}
		}
		return nil
	})
}
