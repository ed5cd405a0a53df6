package main

// The flags that many verbs share. A verb wraps its own flags in withWarehouseFlags or
// withTableFlags; help shows its own first.

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"
)

// warehouseFlag can be set for a whole shell by the environment. c.IsSet is true then too.
func warehouseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "warehouse", Usage: "the DuckDB `FILE` to work in",
		Value: "tidemark.duckdb", EnvVars: []string{"TIDEMARK_WAREHOUSE"},
	}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr"}
}

// withWarehouseFlags adds the flags of every verb that uses a warehouse.
func withWarehouseFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, warehouseFlag(),
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `60s` while another process holds the warehouse", Value: time.Minute}, quietFlag())
}

// withTableFlags adds the flags of every verb whose product is a table.
func withTableFlags(flags ...cli.Flag) []cli.Flag {
	return withWarehouseFlags(slices.Concat(flags, []cli.Flag{
		&cli.BoolFlag{Name: "csv", Usage: "print CSV: full precision, base units"},
		&cli.BoolFlag{Name: "json", Usage: "print a JSON array of objects: full precision, base units"},
	})...)
}

// seedFlag has a fixed default: the same command gives the same plan, unless the user
// asks for another draw.
func seedFlag() cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Usage: "seed of all random draws; printed and stored", Value: 1}
}
