package kit

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
//     code, so RequireFlags takes their place.

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

// RequireFlags is a misuse error if a required flag is missing.
func RequireFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.String(flag) == "" {
			return hint.Misuse("%s: --%s is missing", c.Command.Name, flag).Hint("tidemark %s --help", c.Command.Name)
		}
	}
	return nil
}

// NoArguments refuses an argument; todo says where such a value belongs.
func NoArguments(c *cli.Context, todo string) error {
	if c.NArg() == 0 {
		return nil
	}
	return hint.Misuse("%s: takes no arguments, got %q", c.Command.Name, c.Args().First()).Hint("%s", todo)
}

// OneArgument is the only argument of a verb, or an error that says what the
// argument is for.
func OneArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() == 0 {
		return "", hint.Misuse("%s: no %s given", c.Command.Name, what).Hint("tidemark %s --help", c.Command.Name)
	}
	return OptionalArgument(c, what)
}

// OptionalArgument is the argument of a verb that may do without one; empty: none
// was given.
func OptionalArgument(c *cli.Context, what string) (string, error) {
	if c.NArg() > 1 {
		return "", hint.Misuse("%s: one %s, not %d", c.Command.Name, what, c.NArg()).Hint("tidemark %s --help", c.Command.Name)
	}
	return c.Args().First(), nil
}

// Exclusive refuses two flags that contradict each other.
func Exclusive(c *cli.Context, one, other string) error {
	if c.IsSet(one) && c.IsSet(other) {
		return hint.Misuse("%s: --%s and --%s exclude each other", c.Command.Name, one, other)
	}
	return nil
}

// PositiveFlags refuses a count below 1 where it is given.
func PositiveFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.IsSet(flag) && c.Int64(flag) < 1 {
			return hint.Misuse("%s: --%s must be at least 1", c.Command.Name, flag)
		}
	}
	return nil
}

// BytesOf reads a size with its unit: 5.5GiB, 80 GB. Nil: the flag is not given.
func BytesOf(c *cli.Context, flag string) (*float64, error) {
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

// FileOf is the content of the file that a flag names; nil: the flag is not given.
func FileOf(c *cli.Context, flag string) ([]byte, error) {
	if c.String(flag) == "" {
		return nil, nil
	}
	text, err := userfile.ReadAll(c.String(flag))
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return text, nil
}

// The flags that many verbs share. A verb wraps its own flags in WithWarehouseFlags or
// WithTableFlags; help shows its own first.

// WarehouseFlag can be set for a whole shell by the environment. c.IsSet is true then too.
func WarehouseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "warehouse", Usage: "the DuckDB `FILE` to work in",
		Value: "tidemark.duckdb", EnvVars: []string{"TIDEMARK_WAREHOUSE"},
	}
}

func QuietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr"}
}

// WithWarehouseFlags adds the flags of every verb that uses a warehouse.
func WithWarehouseFlags(flags ...cli.Flag) []cli.Flag {
	return append(flags, WarehouseFlag(),
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `60s` while another process holds the warehouse", Value: time.Minute}, publishFlag(), QuietFlag())
}

// WithTableFlags adds the flags of every verb whose product is a table.
func WithTableFlags(flags ...cli.Flag) []cli.Flag {
	return WithWarehouseFlags(slices.Concat(flags, []cli.Flag{
		&cli.BoolFlag{Name: "csv", Usage: "print CSV: full precision, base units"},
		&cli.BoolFlag{Name: "json", Usage: "print a JSON array of objects: full precision, base units"},
	})...)
}

// SeedFlag has a fixed default: the same command gives the same plan, unless the user
// asks for another draw.
func SeedFlag() cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Usage: "seed of all random draws; printed and stored", Value: 1}
}
