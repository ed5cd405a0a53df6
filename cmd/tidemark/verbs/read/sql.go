package read

// The verbs sql and schema: any question to the warehouse, and the list of what can be
// asked about. internal/cli/shell confines a query, runs it and streams its rows; in a
// terminal and without a query it is a shell.
//
// A query may come from anywhere, so it is confined before it runs: read-only, no files
// unless --files is given, half of the machine's memory, and --timeout.
//
// A person at a terminal sees boxes and numbers with units; a file or a pipe gets every
// number in full.
//
// Exit codes: 0; 2 for SQL that is wrong or not allowed; 4 where memory or time ran out.

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/shell"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

func SQLCommand() *cli.Command {
	return &cli.Command{
		Name:      "sql",
		Usage:     "ask anything; \"tidemark schema\" lists what there is to ask",
		ArgsUsage: "[QUERY]   (-: from stdin; none: a shell)",
		Description: `The warehouse is opened read-only. Without a query this is a shell: history,
Tab for names and units, .help for its commands. A query that may mix what
other tools mean by a word is told so on stderr. A query reads no files
unless --files is given, and can change nothing. On a terminal numbers have
units; a file or a pipe gets them in full.

Example:
  tidemark sql "select source_name, mean_rate_per_s from marts.sources"`,
		Flags: kit.WithTableFlags(
			&cli.BoolFlag{Name: "examples", Usage: "list the example questions"},
			&cli.StringFlag{Name: "example", Usage: "ask the example question `NAME`"},
			&cli.BoolFlag{Name: "line", Usage: "print one line per value"},
			&cli.StringFlag{Name: "memory", Usage: "let the query take up to `8GB` (default: half of the machine's)"},
			&cli.DurationFlag{Name: "timeout", Usage: "stop the query after `30s` (default: never)"},
			&cli.BoolFlag{Name: "files", Usage: "let the query read files: read_csv, read_parquet, read_text, glob"},
		),
		Action: runSQL,
	}
}

func runSQL(c *cli.Context) error {
	rows, err := answerFor(c)
	if err != nil {
		return err
	}
	limits, err := limitsOf(c)
	if err != nil {
		return err
	}
	if c.Bool("examples") {
		return listExamples(c)
	}
	if isForShell(c) {
		return runShell(c, limits)
	}
	query, err := queryText(c)
	if err != nil {
		return err
	}
	ctx := c.Context
	if limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limits.Timeout)
		defer cancel()
	}
	if limits.Files {
		ctx = warehouse.WithFiles(ctx)
	}
	err = leavingAtOnce(ctx, func() error {
		return kit.WithWarehouse(ctx, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			return shell.Ask(ctx, w, query, limits, rows, func(text string) { kit.Tell(c, "%s", text) })
		})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.Errorf("sql: stopped after %s (--timeout)", c.Duration("timeout")).Hint("give it more time, or ask for less")
	}
	return err
}

// answerFor prints rows as they were asked for: as CSV, JSON or lines, else as a box on a
// terminal and in full elsewhere.
func answerFor(c *cli.Context) (tables.Writer, error) {
	for _, other := range []string{"csv", "json"} {
		if err := kit.Exclusive(c, "line", other); err != nil {
			return nil, err
		}
	}
	width := terminal.Width(c.App.Writer)
	switch {
	case kit.IsForPrograms(c):
		return kit.RowsFor(c)
	case c.Bool("line"):
		return tables.NewLines(c.App.Writer, width), nil
	case terminal.Is(c.App.Writer):
		return tables.NewBox(c.App.Writer, width, 0, "--line shows all"), nil
	}
	return tables.NewExact(c.App.Writer), nil
}

func limitsOf(c *cli.Context) (shell.Limits, error) {
	limits := shell.Limits{Files: c.Bool("files"), Timeout: c.Duration("timeout")}
	memory, err := kit.BytesOf(c, "memory")
	if err != nil {
		return limits, err
	}
	if memory != nil {
		limits.MemoryBytes = max(*memory, 1) // 0 is the default
	}
	if limits.Timeout < 0 {
		return limits, hint.Misuse("sql: --timeout %s: must be above 0", limits.Timeout)
	}
	return limits, nil
}

// isForShell is true where a person sits at both ends and has asked nothing yet.
func isForShell(c *cli.Context) bool {
	file, isFile := c.App.Reader.(*os.File)
	return isFile && c.NArg() == 0 && !c.IsSet("example") && term.IsTerminal(int(file.Fd())) && terminal.Is(c.App.Writer)
}

// runShell asks questions until the user leaves. The terminal is in raw mode meanwhile, also
// for what other parts of the program print.
func runShell(c *cli.Context, limits shell.Limits) error {
	out, messages := c.App.Writer, c.App.ErrWriter
	c.App.Writer, c.App.ErrWriter = terminal.Raw(out), terminal.Raw(messages)
	defer func() { c.App.Writer, c.App.ErrWriter = out, messages }()
	return shell.Shell{
		In: c.App.Reader, Out: c.App.Writer, Draw: terminal.Drawing(out),
		Width: func() int { return terminal.Width(out) },
		Path:  c.String("warehouse"),
		Open: func(ctx context.Context, path string, use func(context.Context, *warehouse.Warehouse) error) error {
			before := c.String("warehouse")
			if err := c.Set("warehouse", path); err != nil {
				return err
			}
			if limits.Files {
				ctx = warehouse.WithFiles(ctx)
			}
			err := kit.WithWarehouse(ctx, c, warehouse.ReadOnly, use)
			if err != nil {
				_ = c.Set("warehouse", before)
			}
			return err
		},
		Report: func(err error) { kit.PrintError(c.App.ErrWriter, err) },
		Limits: limits, History: shell.HistoryFile(), Mode: modeOf(c),
	}.Run(c.Context)
}

// modeOf is the mode that a shell starts in.
func modeOf(c *cli.Context) string {
	for _, mode := range []string{"csv", "json", "line"} {
		if c.Bool(mode) {
			return mode
		}
	}
	return "box"
}

// listExamples prints the example questions; for programs with their SQL.
func listExamples(c *cli.Context) error {
	if c.NArg() > 0 || c.IsSet("example") {
		return hint.Misuse("sql: --examples lists and asks nothing").Hint("--example NAME asks one")
	}
	if !kit.IsForPrograms(c) {
		shell.WriteExamples(c.App.Writer, terminal.Width(c.App.Writer), "")
		kit.Tell(c, "ask one: tidemark sql --example %s%s", queries.ExamplesFirst[0], kit.WarehouseWords(c))
		return nil
	}
	table := kit.TableOf("name", "group", "question", "meaning", "query")
	for _, one := range queries.Examples() {
		table.Rows = append(table.Rows, []any{one.Name, one.Group, one.Question, one.Meaning, one.SQL})
	}
	return kit.PrintTable(c, table)
}

// leavingAtOnce does not wait for a reader once the context has ended: some steps
// of a query notice the interrupt late or not at all.
func leavingAtOnce(ctx context.Context, reads func() error) error {
	done := make(chan error, 1)
	go func() { done <- reads() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return ctx.Err()
}

// queryText reads the query from stdin too, because quoting SQL in a shell is hard.
func queryText(c *cli.Context) (string, error) {
	if c.IsSet("example") {
		if c.NArg() > 0 {
			return "", hint.Misuse("sql: a query and --example %s", c.String("example")).Hint("ask one of them")
		}
		example, err := shell.FindExample(c.String("example"))
		if err != nil {
			return "", err
		}
		kit.Tell(c, "%s %s", example.Question, strings.ReplaceAll(example.Meaning, "\n", " "))
		return example.SQL, nil
	}
	if c.NArg() > 1 {
		return "", hint.Misuse("sql: one query, not %d", c.NArg()).Hint("put the query in quotes")
	}
	if query := c.Args().First(); query != "" && query != "-" {
		return query, nil
	}
	text, err := io.ReadAll(c.App.Reader)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", hint.Misuse("sql: no query given").Hint(`tidemark sql "from marts.sources"`)
	}
	return string(text), nil
}

func SchemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "what there is to ask, by question; or the columns of a relation",
		ArgsUsage: "[RELATION | MACRO | GROUP | SCHEMA]",
		Description: `Without a name: where to start, and the groups of relations. A name may lack
its schema: "tpot_gap" is marts.tpot_gap. --csv and --json list everything.

Examples:
  tidemark schema traces
  tidemark schema marts.tpot_gap
  tidemark schema macros`,
		Flags: kit.WithTableFlags(
			&cli.BoolFlag{Name: "stable", Usage: "the columns that are promised to stay, in the snapshot and in the lake"},
		),
		Action: runSchema,
	}
}

func runSchema(c *cli.Context) error {
	name, err := kit.OptionalArgument(c, "relation")
	if err != nil {
		return err
	}
	if c.Bool("stable") {
		return printStable(c, name)
	}
	return kit.Answering(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := answers.Schema(ctx, w.DB(), name)
		switch {
		case err != nil:
			return err
		case kit.IsForPrograms(c):
			return kit.PrintTable(c, table)
		}
		return describe(c, name, table)
	})
}

// describe prints for people what Schema found: the overview, a group or a schema, or one
// relation.
func describe(c *cli.Context, name string, table answers.Table) error {
	if name == "" {
		shell.WriteGuide(c.App.Writer, terminal.Width(c.App.Writer), table)
		kit.Tell(c, "next: tidemark schema GROUP, tidemark schema RELATION, tidemark schema macros, tidemark sql --examples")
		return nil
	}
	if group, is := answers.Group(name); is {
		kit.PrintLine(c, "%s", group.Question)
	}
	if table.Comment != "" {
		kit.Remark(c, "%s: %s", table.Name, strings.ReplaceAll(table.Comment, "\n", " "))
		kit.Gap(c)
	}
	if table.Place("relation") < 0 {
		return kit.PrintList(c, table, "--csv has them all")
	}
	shell.WriteList(c.App.Writer, terminal.Width(c.App.Writer), table)
	if _, is := answers.Group(name); is {
		kit.PrintLine(c, "EXAMPLES (tidemark sql --example NAME)")
		shell.WriteExamples(c.App.Writer, terminal.Width(c.App.Writer), name)
	}
	return nil
}

// printStable lists the promised columns, all or those of one relation. For people the whole list has a row for each relation, because
// with one for each column it would have a thousand.
func printStable(c *cli.Context, relation string) error {
	table := kit.TableOf("relation", "column", "type", "meaning")
	brief, places := kit.TableOf("relation", "columns"), map[string]int{}
	for _, row := range queries.Stable() {
		if _, bare, _ := strings.Cut(row[0], "."); relation != "" && relation != row[0] && relation != bare {
			continue
		}
		table.Rows = append(table.Rows, []any{row[0], row[1], row[2], row[3]})
		place, is := places[row[0]]
		if !is {
			places[row[0]] = len(brief.Rows)
			brief.Rows = append(brief.Rows, []any{row[0], row[1]})
			continue
		}
		brief.Rows[place][1] = brief.Rows[place][1].(string) + ", " + row[1]
	}
	switch {
	case len(table.Rows) == 0:
		return hint.Misuse("schema --stable: nothing is promised of %s", relation).Hint("tidemark schema --stable lists all that is")
	case kit.IsForPrograms(c):
		return kit.PrintTable(c, table)
	case relation == "":
		kit.Tell(c, "types and meanings: tidemark schema --stable RELATION, or --csv")
		return kit.PrintList(c, brief, "--csv has them all")
	}
	columns := kit.TableOf("column", "type", "meaning")
	for _, row := range table.Rows {
		columns.Rows = append(columns.Rows, row[1:])
	}
	return kit.PrintList(c, columns, "--csv has them all")
}
