package kit

// What every verb checks in the same way about its arguments and flags. Each of
// these errors is misuse: the program exits with 2 and has touched nothing.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// Require is a misuse error if one of these flags is missing or empty.
func (c *Call) Require(flags ...string) error {
	for _, flag := range flags {
		if c.line.String(flag) == "" {
			return hint.Misuse("%s: --%s is missing", c.Verb, flag).Hint("tidemark %s --help", c.Verb)
		}
	}
	return nil
}

// NoArguments refuses an argument; todo says where such a value belongs.
func (c *Call) NoArguments(todo string) error {
	if c.Args.Len() == 0 {
		return nil
	}
	return hint.Misuse("%s: takes no arguments, got %q", c.Verb, c.Args.First()).Hint("%s", todo)
}

// OneArgument is the only argument of a verb, or an error that says what the
// argument is for.
func (c *Call) OneArgument(what string) (string, error) {
	if c.Args.Len() == 0 {
		return "", hint.Misuse("%s: no %s given", c.Verb, what).Hint("tidemark %s --help", c.Verb)
	}
	return c.OptionalArgument(what)
}

// OptionalArgument is the argument of a verb that may do without one; empty: none
// was given.
func (c *Call) OptionalArgument(what string) (string, error) {
	if c.Args.Len() > 1 {
		return "", hint.Misuse("%s: one %s, not %d", c.Verb, what, c.Args.Len()).Hint("tidemark %s --help", c.Verb)
	}
	return c.Args.First(), nil
}

// Exclusive refuses two flags that contradict each other.
func (c *Call) Exclusive(one, other string) error {
	if c.IsGiven(one) && c.IsGiven(other) {
		return hint.Misuse("%s: --%s and --%s exclude each other", c.Verb, one, other)
	}
	return nil
}

// FileOf is the content of the file that a flag names; nil: it names none.
func FileOf(flag, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := userfile.ReadAll(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return text, nil
}

// The actions of flags: what a value that is given must be.

// Said keeps the value of a flag that was given. Nil: it was not.
func Said[T any](into **T) func(*cli.Context, T) error {
	return func(_ *cli.Context, value T) error {
		*into = &value
		return nil
	}
}

// OneOf refuses other words.
func OneOf(flag string, words ...string) func(*cli.Context, string) error {
	return func(line *cli.Context, word string) error {
		if slices.Contains(words, word) {
			return nil
		}
		last := len(words) - 1
		return hint.Misuse("%s: --%s %s: must be %s or %s", line.Command.Name, flag, word, strings.Join(words[:last], ", "), words[last]).
			Hint("--%s %s", flag, strings.Join(words, " or --"+flag+" "))
	}
}

// Fits refuses values that do not fit; wants says which do.
func Fits[T any](flag, wants string, fits func(T) bool) func(*cli.Context, T) error {
	return func(line *cli.Context, value T) error {
		if fits(value) {
			return nil
		}
		return hint.Misuse("%s: --%s must be %s", line.Command.Name, flag, wants)
	}
}

// AtLeastOne refuses a count below 1.
func AtLeastOne[T int | int64](flag string) func(*cli.Context, T) error {
	return Fits(flag, "at least 1", func(n T) bool { return n >= 1 })
}

// Size reads a size with its unit: 5.5GiB, 80 GB. Nil: the flag is not given.
func Size(flag string, into **float64) func(*cli.Context, string) error {
	return func(line *cli.Context, text string) error {
		text = strings.TrimSpace(text)
		size, isSize := deployment.Bytes(text)
		if !isSize {
			return hint.Misuse("%s: --%s %s: not a size", line.Command.Name, flag, text).
				Hint("a number and its unit: 80GB is 80e9 bytes, 80GiB is 85.9e9, 81559MiB as nvidia-smi reports it")
		}
		*into = &size
		return nil
	}
}

// SeedFlag has a fixed default: the same command gives the same plan, unless the user
// asks for another draw.
func SeedFlag(into *uint64) cli.Flag {
	return &cli.Uint64Flag{Name: "seed", Usage: "seed of all random draws; printed and stored", Value: 1, Destination: into}
}

// Without leaves flags out of a group that a verb has no use for.
func Without(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(flag cli.Flag) bool { return slices.Contains(names, flag.Names()[0]) })
}
