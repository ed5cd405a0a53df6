package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/tables"
	"tidemark/internal/terminal"
	"tidemark/internal/warehouse"
)

func warehouseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "warehouse", Usage: "the DuckDB `FILE` to work in",
		Value: "tidemark.duckdb", EnvVars: []string{"TIDEMARK_WAREHOUSE"},
	}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Usage: "no talk on stderr"}
}

// everywhere adds the flags of every verb that uses a warehouse.
func everywhere(flags ...cli.Flag) []cli.Flag {
	return append(flags, warehouseFlag(),
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `60s` while another process holds the warehouse", Value: time.Minute}, quietFlag())
}

// tabular adds the flags of every verb whose product is a table.
func tabular(flags ...cli.Flag) []cli.Flag {
	return everywhere(slices.Concat(flags, []cli.Flag{
		&cli.BoolFlag{Name: "csv", Usage: "print CSV: full precision, base units"},
		&cli.BoolFlag{Name: "json", Usage: "print a JSON array of objects: full precision, base units"},
	})...)
}

func seedFlag() cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Usage: "seed of whatever is drawn; printed and stored", Value: 1}
}

// need is a misuse error if a required flag is missing.
func need(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.String(flag) == "" {
			return hint.Misuse("%s: --%s is missing", c.Command.Name, flag).Hint("tidemark %s --help", c.Command.Name)
		}
	}
	return nil
}

// withWarehouse opens the warehouse of the command for the duration of one
// function, and waits for it while another process holds it.
func withWarehouse(ctx context.Context, c *cli.Context, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	return withWarehouseWithin(ctx, c, c.Duration("wait"), mode, use)
}

// withWarehouseWithin waits that long.
func withWarehouseWithin(ctx context.Context, c *cli.Context, wait time.Duration, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	var w *warehouse.Warehouse
	err := patiently(ctx, c, wait, func() (err error) {
		w, err = warehouse.Open(ctx, c.String("warehouse"), mode)
		if mode == warehouse.ReadOnly && errors.Is(err, warehouse.ErrStale) {
			w, err = renewed(ctx, c, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = w.Explain(use(ctx, w))
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// patiently tries again for that long while another process holds the warehouse,
// and says at once which process does.
func patiently(ctx context.Context, c *cli.Context, wait time.Duration, try func() error) error {
	asked := c.Context.Done() // the first signal also ends a wait whose own context goes on
	for began, isTold := time.Now(), false; ; isTold = true {
		err := try()
		left := wait - time.Since(began)
		switch {
		case !errors.Is(err, warehouse.ErrHeld):
			return err
		case left <= 0 && wait <= 0:
			return err
		case left <= 0:
			return fmt.Errorf("%w, still after %s of waiting", err, wait)
		case !isTold:
			tell(c, "%v; %s", err, waitingFor(wait))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hardStop(c.Context).Done():
			return err
		case <-asked:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			asked = nil
			tell(c, "still waiting for the warehouse, so that nothing is lost; Ctrl-C again leaves at once")
		case <-time.After(min(left, 100*time.Millisecond)):
		}
	}
}

func waitingFor(wait time.Duration) string {
	if wait >= untilFree {
		return "waiting until it is free"
	}
	return fmt.Sprintf("waiting up to %s for it", wait)
}

// warehouseWords are the flags with which a suggested command finds the same
// warehouse.
func warehouseWords(c *cli.Context) string {
	if path := c.String("warehouse"); path != "tidemark.duckdb" && path != os.Getenv("TIDEMARK_WAREHOUSE") {
		return " --warehouse " + path
	}
	return ""
}

// renewed brings the views of a warehouse to this version, so that an upgrade of
// the program does not lock an analyst out. Data is not touched. If that fails, the
// first error is returned.
func renewed(ctx context.Context, c *cli.Context, stale error) (*warehouse.Warehouse, error) {
	w, err := warehouse.Open(ctx, c.String("warehouse"), warehouse.ReadWrite)
	if errors.Is(err, warehouse.ErrHeld) {
		return nil, err
	}
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	if err != nil {
		return nil, stale
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	tell(c, "%s: its views are now those of this version of tidemark", c.String("warehouse"))
	return warehouse.Open(ctx, c.String("warehouse"), warehouse.ReadOnly)
}

// oneArgument is the only argument of a verb, or an error that says what the
// argument is for.
func oneArgument(c *cli.Context, what string) (string, error) {
	switch c.NArg() {
	case 0:
		return "", hint.Misuse("%s: no %s given", c.Command.Name, what).Hint("tidemark %s --help", c.Command.Name)
	case 1:
		return c.Args().First(), nil
	default:
		return "", hint.Misuse("%s: one %s, not %d", c.Command.Name, what, c.NArg()).Hint("tidemark %s --help", c.Command.Name)
	}
}

// printTable writes a table in the requested form: CSV or JSON in full precision
// and base units, otherwise for people.
func printTable(c *cli.Context, table analysis.Table) error {
	rows, err := rowsFor(c)
	if err != nil {
		return err
	}
	return tables.Write(rows, table)
}

// rowsFor prints rows one by one in the requested form.
func rowsFor(c *cli.Context) (tables.Writer, error) {
	switch {
	case c.Bool("csv") && c.Bool("json"):
		return nil, hint.Misuse("%s: --csv and --json exclude each other", c.Command.Name)
	case c.Bool("csv"):
		return tables.NewCSV(terminal.Product(c.App.Writer)), nil
	case c.Bool("json"):
		return tables.NewJSON(terminal.Product(c.App.Writer)), nil
	}
	return tables.NewText(c.App.Writer, terminal.Width(c.App.Writer)), nil
}
