package main

// What every verb checks in the same way about its arguments and flags. Each of
// these errors is misuse: the program exits with 2 and has touched nothing.
//
// urfave/cli has traps that show here:
//
//   - c.Int64 parses the flag's text, whatever its type, and is 0 where that fails: a
//     flag that holds text looks like one that was not given.
//   - c.IsSet is the only way to tell a default from the same value given by the user.
//     It is also true for a value from the environment, such as $TIDEMARK_WAREHOUSE.
//   - urfave's own Required flags print an error in other words and with another exit
//     code, so requireFlags takes their place.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// requireFlags is a misuse error if a required flag is missing.
func requireFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.String(flag) == "" {
			return hint.Misuse("%s: --%s is missing", c.Command.Name, flag).Hint("tidemark %s --help", c.Command.Name)
		}
	}
	return nil
}

// noArguments refuses an argument; todo says where such a value belongs.
func noArguments(c *cli.Context, todo string) error {
	if c.NArg() == 0 {
		return nil
	}
	return hint.Misuse("%s: takes no arguments, got %q", c.Command.Name, c.Args().First()).Hint("%s", todo)
}

// oneArgument is the only argument of a verb, or an error that says what the
// argument is for.
func oneArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() == 0 {
		return "", hint.Misuse("%s: no %s given", c.Command.Name, what).Hint("tidemark %s --help", c.Command.Name)
	}
	return optionalArgument(c, what)
}

// optionalArgument is the argument of a verb that may do without one; empty: none
// was given.
func optionalArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() > 1 {
		return "", hint.Misuse("%s: one %s, not %d", c.Command.Name, what, c.NArg()).Hint("tidemark %s --help", c.Command.Name)
	}
	return c.Args().First(), nil
}

// exclusive refuses two flags that contradict each other.
func exclusive(c *cli.Context, one, other string) error {
	if c.IsSet(one) && c.IsSet(other) {
		return hint.Misuse("%s: --%s and --%s exclude each other", c.Command.Name, one, other)
	}
	return nil
}

// positiveFlags refuses a count below 1 where it is given.
func positiveFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.IsSet(flag) && c.Int64(flag) < 1 {
			return hint.Misuse("%s: --%s must be at least 1", c.Command.Name, flag)
		}
	}
	return nil
}

// bytesOf reads a size with its unit: 5.5GiB, 80 GB. Nil: the flag is not given.
func bytesOf(c *cli.Context, flag string) (*float64, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	text := strings.TrimSpace(c.String(flag))
	size, isSize := deployment.Bytes(text)
	if !isSize {
		return nil, hint.Misuse("%s: --%s %s: not a size", c.Command.Name, flag, text).
			Hint("a number and its unit: 80GB is 80e9 bytes, 80GiB is 85.9e9, 81559MiB as nvidia-smi reports it")
	}
	return new(size), nil
}

// fileOf is the content of the file that a flag names; nil: the flag is not given.
func fileOf(c *cli.Context, flag string) ([]byte, error) {
	if c.String(flag) == "" {
		return nil, nil
	}
	text, err := userfile.ReadAll(c.String(flag))
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return text, nil
}

// The flags that many verbs share. A verb wraps its own flags in withWarehouseFlags or
// withTableFlags; help shows its own first.

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
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `60s` while another process holds the warehouse", Value: time.Minute}, publishFlag(), quietFlag())
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
