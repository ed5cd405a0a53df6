package keep

// The verb "warehouse check" runs every view of schema "checks". Each of them selects the rows
// that break one truth, so a healthy warehouse gives zero rows everywhere.
// analysis.RunChecks runs them. Exit codes: 0 all hold; 1 some row breaks a truth.

import (
	"context"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

func CheckCommand() *cli.Command {
	c := &kit.Call{}
	return &cli.Command{
		Name:    "warehouse check",
		Aliases: []string{"check"},
		Usage:   "run every check; exits 1 when a row breaks a truth",
		Description: `Example:
  tidemark warehouse check --json`,
		Flags:  c.TableFlags(),
		Action: c.Do(func() error { return runCheck(c) }),
	}
}

// runCheck exits with 1 if a check finds rows that break it.
func runCheck(c *kit.Call) error {
	if err := c.NoArguments("tidemark warehouse check --help"); err != nil {
		return err
	}
	return c.WithWarehouse(c.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		results, err := analysis.RunChecks(ctx, w.DB())
		if err != nil {
			return err
		}
		table := kit.TableOf("check", "breaking_rows", "truth")
		broken := 0
		for _, result := range results {
			table.Rows = append(table.Rows, []any{result.Name, result.Rows, result.Comment})
			if result.Rows > 0 {
				broken++
			}
		}
		if err := c.PrintTable(table); err != nil {
			return err
		}
		if broken > 0 {
			return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("%d of %d checks broken", broken, len(results)).
				Hint(`see the rows: tidemark sql "from checks.NAME"`)}
		}
		return nil
	})
}
