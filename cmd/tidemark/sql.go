package main

// The verbs sql and schema: any question to the warehouse, and the list of what can be
// asked about. analysis/answers runs the query and streams its rows.
//
// A query may come from anywhere, so it is confined before it runs: read-only, no files
// unless --files is given, half of the machine's memory, and --timeout.
//
// Exit codes: 0; 2 for SQL that is wrong or not allowed; 4 where memory or time ran out.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/tables"
	"tidemark/internal/warehouse"
)

func sqlCommand() *cli.Command {
	return &cli.Command{
		Name:      "sql",
		Usage:     "ask anything; \"tidemark schema\" lists what there is to ask",
		ArgsUsage: "[QUERY]   (- or nothing reads it from stdin)",
		Description: `The warehouse is opened read-only. A query that may mix what other tools
mean by a word is told so on stderr. Rows are printed while they are found:
memory does not grow with the answer. A query reads no files unless --files
is given, and can change nothing.

Example:
  tidemark sql "select source_name, mean_rate_per_s from marts.sources"`,
		Flags: withTableFlags(
			&cli.StringFlag{Name: "memory", Usage: "let the query take up to `8GB` (default: half of the machine's)"},
			&cli.DurationFlag{Name: "timeout", Usage: "stop the query after `30s` (default: never)"},
			&cli.BoolFlag{Name: "files", Usage: "let the query read files: read_csv, read_parquet, read_text, glob"},
		),
		Action: runSQL,
	}
}

// runSQL confines the query before it runs: memory, time and files, because people
// paste queries from elsewhere.
func runSQL(c *cli.Context) error {
	query, err := queryText(c)
	if err != nil {
		return err
	}
	rows, err := rowsFor(c)
	if err != nil {
		return err
	}
	memory, err := bytesOf(c, "memory")
	if err != nil {
		return err
	}
	ctx := c.Context
	if timeout := c.Duration("timeout"); timeout < 0 {
		return hint.Misuse("sql: --timeout %s: must be above 0", timeout)
	} else if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err = leavingAtOnce(ctx, func() error {
		return withWarehouse(ctx, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			return answer(ctx, c, w, query, memory, rows)
		})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.Errorf("sql: stopped after %s (--timeout)", c.Duration("timeout")).Hint("give it more time, or ask for less")
	}
	return err
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

// answer runs the query and prints rows as they come.
func answer(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, query string, memory *float64, rows tables.Writer) error {
	if mixed, err := answers.MixedDefinitions(ctx, w.DB(), query); err == nil && mixed != "" {
		tell(c, "note: %s", mixed)
	}
	if memory == nil {
		text, err := w.MemoryLimit(ctx)
		if err != nil {
			return err
		}
		limit, isSize := deployment.Bytes(text)
		if !isSize {
			return fmt.Errorf("sql: DuckDB says %q for the memory it may take", text)
		}
		memory = new(limit * 50 / 80) // DuckDB's limit is 80 % of memory; a query gets 50 %
	}
	if err := w.Confine(ctx, int64(*memory), c.Bool("files")); err != nil {
		return err
	}
	err := answers.Stream(ctx, w.DB(), query, rows.Begin, rows.Row)
	if err != nil {
		return errors.Join(fmt.Errorf("sql: %w", queryError(err, *memory)), rows.Flush())
	}
	return rows.End()
}

// queryError says in the user's words what stopped a query.
func queryError(err error, memory float64) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "Out of Memory Error"):
		return hint.Errorf("the query needs more than %s of memory, all that it may take (--memory)", bytesText(int64(memory))).
			Hint("ask for less at once (fewer columns, a shorter window, no order by), or allow more with --memory %s", bytesText(int64(2*memory)))
	case strings.Contains(text, "Permission Error") && strings.Contains(text, "disabled by configuration"):
		return hint.Misuse("the query reads a file, which is not allowed").Hint("--files allows it")
	case missingFile.MatchString(text):
		return hint.Misuse("%w", err).Hint(`"tidemark schema" lists the relations; --files lets a query read a file`)
	}
	return err
}

// missingFile recognises DuckDB's message for a file name in place of a table.
var missingFile = regexp.MustCompile(`Table with name \S*[/.]\S* does not exist`)

// queryText reads the query from stdin too, because quoting SQL in a shell is hard.
func queryText(c *cli.Context) (string, error) {
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

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "list the relations of the warehouse, or the columns of one",
		ArgsUsage: "[RELATION]",
		Description: `Example:
  tidemark schema marts.tpot_gap`,
		Flags:  withTableFlags(),
		Action: runSchema,
	}
}

func runSchema(c *cli.Context) error {
	relation, err := optionalArgument(c, "relation")
	if err != nil {
		return err
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := answers.Schema(ctx, w.DB(), relation)
		if err != nil {
			return err
		}
		if relation == "" && !isForPrograms(c) {
			firstLines(table)
		}
		return printTable(c, table)
	})
}

// firstLines shortens a list for people: of a relation's comment it keeps the
// grain.
func firstLines(table analysis.Table) {
	for _, row := range table.Rows {
		for i, value := range row {
			if text, ok := value.(string); ok {
				row[i], _, _ = strings.Cut(text, "\n")
			}
		}
	}
}
