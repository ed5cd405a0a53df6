package read

// The verb sql asks any question to the warehouse. internal/cli/shell confines a query, runs it and streams its rows; in a
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

	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/shell"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

type sqlFlags struct {
	kit.Call
	example               string
	examples, line, files bool
	memory                *float64 // bytes; nil: half of the machine's
	timeout               time.Duration
}

func SQLCommand() *cli.Command {
	f := &sqlFlags{}
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
		Flags: f.TableFlags(
			&cli.BoolFlag{Name: "examples", Usage: "list the example questions", Destination: &f.examples},
			&cli.StringFlag{Name: "example", Usage: "ask the example question `NAME`", Destination: &f.example},
			&cli.BoolFlag{Name: "line", Usage: "print one line per value", Destination: &f.line},
			&cli.StringFlag{Name: "memory", Usage: "let the query take up to `8GB` (default: half of the machine's)", Action: kit.Size("memory", &f.memory)},
			&cli.DurationFlag{Name: "timeout", Usage: "stop the query after `30s` (default: never)", Destination: &f.timeout},
			&cli.BoolFlag{Name: "files", Usage: "let the query read files: read_csv, read_parquet, read_text, glob", Destination: &f.files},
		),
		Action: f.Do(f.run),
	}
}

func (f *sqlFlags) run() error {
	rows, err := f.answerFor()
	if err != nil {
		return err
	}
	limits, err := f.limitsOf()
	if err != nil {
		return err
	}
	if f.examples {
		return f.listExamples()
	}
	if f.isForShell() {
		return f.runShell(limits)
	}
	query, err := f.queryText()
	if err != nil {
		return err
	}
	ctx := f.Context
	if limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limits.Timeout)
		defer cancel()
	}
	if limits.Files {
		ctx = warehouse.WithFiles(ctx)
	}
	err = leavingAtOnce(ctx, func() error {
		return f.WithWarehouse(ctx, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			return shell.Ask(ctx, w, query, limits, rows, func(text string) { f.Tell("%s", text) })
		})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.Errorf("sql: stopped after %s (--timeout)", f.timeout).Hint("give it more time, or ask for less")
	}
	return err
}

// answerFor prints rows as they were asked for: as CSV, JSON or lines, else as a box on a
// terminal and in full elsewhere.
func (f *sqlFlags) answerFor() (tables.Writer, error) {
	for _, other := range []string{"csv", "json"} {
		if err := f.Exclusive("line", other); err != nil {
			return nil, err
		}
	}
	width := terminal.Width(f.App.Writer)
	switch {
	case f.IsForPrograms():
		return f.RowsFor()
	case f.line:
		return tables.NewLines(f.App.Writer, width), nil
	case terminal.Is(f.App.Writer):
		return tables.NewBox(f.App.Writer, width, 0, "--line shows all"), nil
	}
	return tables.NewExact(f.App.Writer), nil
}

func (f *sqlFlags) limitsOf() (shell.Limits, error) {
	limits := shell.Limits{Files: f.files, Timeout: f.timeout}
	if f.memory != nil {
		limits.MemoryBytes = max(*f.memory, 1) // 0 is the default
	}
	if limits.Timeout < 0 {
		return limits, hint.Misuse("sql: --timeout %s: must be above 0", limits.Timeout)
	}
	return limits, nil
}

// isForShell is true where a person sits at both ends and has asked nothing yet.
func (f *sqlFlags) isForShell() bool {
	file, isFile := f.App.Reader.(*os.File)
	return isFile && f.Args.Len() == 0 && !f.IsGiven("example") && term.IsTerminal(int(file.Fd())) && terminal.Is(f.App.Writer)
}

// runShell asks questions until the user leaves. The terminal is in raw mode meanwhile, also
// for what other parts of the program print.
func (f *sqlFlags) runShell(limits shell.Limits) error {
	out, messages := f.App.Writer, f.App.ErrWriter
	f.App.Writer, f.App.ErrWriter = terminal.Raw(out), terminal.Raw(messages)
	defer func() { f.App.Writer, f.App.ErrWriter = out, messages }()
	return shell.Shell{
		In: f.App.Reader, Out: f.App.Writer, Draw: terminal.Drawing(out),
		Width: func() int { return terminal.Width(out) },
		Path:  f.Warehouse,
		Open: func(ctx context.Context, path string, use func(context.Context, *warehouse.Warehouse) error) error {
			before := f.Warehouse
			f.Warehouse = path
			if limits.Files {
				ctx = warehouse.WithFiles(ctx)
			}
			err := f.WithWarehouse(ctx, warehouse.ReadOnly, use)
			if err != nil {
				f.Warehouse = before
			}
			return err
		},
		Report: func(err error) { kit.PrintError(f.App.ErrWriter, err) },
		Limits: limits, History: shell.HistoryFile(), Mode: f.mode(),
	}.Run(f.Context)
}

// mode is the mode that a shell starts in.
func (f *sqlFlags) mode() string {
	switch {
	case f.CSV:
		return "csv"
	case f.JSON:
		return "json"
	case f.line:
		return "line"
	}
	return "box"
}

// listExamples prints the example questions; for programs with their SQL.
func (f *sqlFlags) listExamples() error {
	if f.Args.Len() > 0 || f.Given("example", "line", "memory", "timeout", "files") != "" {
		return hint.Misuse("sql: --examples lists and asks nothing").Hint("--example NAME asks one")
	}
	if !f.IsForPrograms() {
		shell.WriteExamples(f.App.Writer, terminal.Width(f.App.Writer), "")
		f.Tell("ask one: tidemark sql --example %s%s", queries.ExamplesFirst[0], f.WarehouseWords())
		return nil
	}
	table := kit.TableOf("name", "group", "question", "meaning", "query")
	for _, one := range queries.Examples() {
		table.Rows = append(table.Rows, []any{one.Name, one.Group, one.Question, one.Meaning, one.SQL})
	}
	return f.PrintTable(table)
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
func (f *sqlFlags) queryText() (string, error) {
	if f.IsGiven("example") {
		if f.Args.Len() > 0 {
			return "", hint.Misuse("sql: a query and --example %s", f.example).Hint("ask one of them")
		}
		example, err := shell.FindExample(f.example)
		if err != nil {
			return "", err
		}
		f.Tell("%s %s", example.Question, strings.ReplaceAll(example.Meaning, "\n", " "))
		return example.SQL, nil
	}
	if f.Args.Len() > 1 {
		return "", hint.Misuse("sql: one query, not %d", f.Args.Len()).Hint("put the query in quotes")
	}
	if query := f.Args.First(); query != "" && query != "-" {
		return query, nil
	}
	text, err := io.ReadAll(f.App.Reader)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", hint.Misuse("sql: no query given").Hint(`tidemark sql "from marts.sources"`)
	}
	return string(text), nil
}
