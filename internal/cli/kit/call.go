package kit

// A verb is a method of its flags: a struct that embeds Call, and the groups of flags that it shares with other verbs. urfave
// writes the values into it (Destination), and what a value must be stands next to its flag (Action):
//
//	f := &runsFlags{}
//	return &cli.Command{
//		Name:   "runs",
//		Flags:  f.TableFlags(&cli.StringFlag{Name: "slo", Usage: "...", Destination: &f.slo}),
//		Action: f.Do(f.run),
//	}
//
// Traps of urfave/cli that show here:
//
//   - A default cannot be told from the same value given by the user: IsGiven tells. It is also true for a value from the
//     environment, such as $TIDEMARK_WAREHOUSE.
//   - An Action is called for flags that are given only. A default must make sense by itself.
//   - Lists and what Said keeps are not reset: an app serves one call, and Another makes one for the next.
//   - urfave's own Required flags print an error in other words and with another exit code, so Require takes their place.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// Call is one call of a verb: what it is called with, where it reads and writes, and the flags that nearly every verb has. A verb
// without one of these flags leaves it empty.
type Call struct {
	Context context.Context
	App     *cli.App
	Args    cli.Args
	Verb    string

	Warehouse string        // the DuckDB file
	Publish   string        // a folder, a bucket, "off", or empty: beside the warehouse
	Wait      time.Duration // for a warehouse that another process holds
	Quiet     bool
	CSV, JSON bool

	line *cli.Context
}

// Do is the action of a verb: it takes over what urfave has read, and runs the verb.
func (c *Call) Do(verb func() error) cli.ActionFunc {
	return func(line *cli.Context) error {
		c.Context, c.App, c.Args, c.Verb, c.line = line.Context, line.App, line.Args(), line.Command.Name, line
		return c.named(verb())
	}
}

// named has an error of package replay, which begins with that name, begin with the verb's.
func (c *Call) named(err error) error {
	if err == nil || c.Verb == "replay" {
		return err
	}
	if joined, are := err.(interface{ Unwrap() []error }); are {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, c.named(one))
		}
		return errors.Join(all...)
	}
	if text, is := strings.CutPrefix(err.Error(), "replay: "); is {
		return ofVerb{error: err, text: c.Verb + ": " + text}
	}
	return err
}

type ofVerb struct {
	error
	text string
}

func (e ofVerb) Error() string { return e.text }
func (e ofVerb) Unwrap() error { return e.error }

// ShowHelp prints the help of the verb.
func (c *Call) ShowHelp() {
	cli.HelpPrinter(c.App.Writer, c.line.Command.CustomHelpTemplate, c.line.Command)
}

// QuietFlag is alone in verbs that use no warehouse.
func (c *Call) QuietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr", Destination: &c.Quiet}
}

// WarehouseFlag can be set for a whole shell by the environment.
func (c *Call) WarehouseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "warehouse", Usage: "the DuckDB `FILE` to work in", Destination: &c.Warehouse,
		Value: "tidemark.duckdb", EnvVars: []string{"TIDEMARK_WAREHOUSE"},
	}
}

// WarehouseFlags adds the flags of every verb that uses a warehouse to its own, which help shows first.
func (c *Call) WarehouseFlags(own ...cli.Flag) []cli.Flag {
	return append(own, c.WarehouseFlag(),
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `60s` while another process holds the warehouse", Value: time.Minute, Destination: &c.Wait},
		&cli.StringFlag{
			Name: "publish", Usage: "publish into `DIR` or s3://bucket/prefix, \"off\" for nowhere (default: beside the warehouse)", Destination: &c.Publish,
			EnvVars: []string{"TIDEMARK_PUBLISH"},
			Action: func(line *cli.Context, asked string) error {
				_, _, err := (&Call{Verb: line.Command.Name}).BucketOf("publish", asked)
				return err
			},
		}, c.QuietFlag())
}

// TableFlags adds the flags of every verb whose product is a table.
func (c *Call) TableFlags(own ...cli.Flag) []cli.Flag {
	return c.WarehouseFlags(slices.Concat(own, []cli.Flag{
		&cli.BoolFlag{Name: "csv", Usage: "print CSV: full precision, base units", Destination: &c.CSV},
		&cli.BoolFlag{Name: "json", Usage: "print a JSON array of objects: full precision, base units", Destination: &c.JSON},
	})...)
}

// IsGiven reports whether the user gave the flag.
func (c *Call) IsGiven(flag string) bool { return c.line.IsSet(flag) }

// Given is the first of these flags that the user gave; empty: none. It is for flags that have no meaning beside another.
func (c *Call) Given(flags ...string) string {
	if at := slices.IndexFunc(flags, c.IsGiven); at >= 0 {
		return flags[at]
	}
	return ""
}

// Values are the values of the flags that the user gave, by name, without some.
func (c *Call) Values(except ...string) map[string]any {
	values := map[string]any{}
	for _, flag := range c.line.Command.Flags {
		if name := flag.Names()[0]; !slices.Contains(except, name) && c.IsGiven(name) {
			values[name] = c.line.Value(name)
		}
	}
	return values
}
