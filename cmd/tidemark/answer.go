package main

// How a verb answers: a table or a sentence on stdout, everything else on stderr.
//
// With --csv and --json stdout belongs to a program. The table is then complete, in
// base units and full precision, and sentences go to stderr. Without them a person
// reads: fewer columns, rounded figures with units, sentences around the table.

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// isForPrograms reports whether stdout is read by a program.
func isForPrograms(c *cli.Context) bool { return c.Bool("csv") || c.Bool("json") }

// printTable writes a table in the requested form: CSV or JSON in full precision
// and base units, otherwise for people.
func printTable(c *cli.Context, table analysis.Table) error {
	rows, err := rowsFor(c)
	if err != nil {
		return err
	}
	return tables.Write(rows, table)
}

// rowsFor prints rows one by one in the requested form. CSV and JSON go through
// terminal.Product, so that a file or a pipe gets the values byte for byte.
func rowsFor(c *cli.Context) (tables.Writer, error) {
	if err := exclusive(c, "csv", "json"); err != nil {
		return nil, err
	}
	switch {
	case c.Bool("csv"):
		return tables.NewCSV(terminal.Product(c.App.Writer)), nil
	case c.Bool("json"):
		return tables.NewJSON(terminal.Product(c.App.Writer)), nil
	}
	return tables.NewText(c.App.Writer, terminal.Width(c.App.Writer)), nil
}

// printList prints a table that people look through, a row for each thing: boxed on a terminal, and never transposed. note says how to see
// columns that do not fit.
func printList(c *cli.Context, table analysis.Table, note string) error {
	width := terminal.Width(c.App.Writer)
	switch {
	case isForPrograms(c):
		return printTable(c, table)
	case terminal.Is(c.App.Writer):
		return tables.Write(tables.NewBox(c.App.Writer, width, 0, note), table)
	}
	return tables.Write(tables.NewList(c.App.Writer, width), table)
}

// printQuery asks the warehouse and prints the answer.
func printQuery(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, query string, args ...any) error {
	table, err := answers.Query(ctx, w.DB(), query, args...)
	if err != nil {
		return err
	}
	return printTable(c, table)
}

// printLine prints one line on stdout.
func printLine(c *cli.Context, format string, args ...any) {
	fmt.Fprintln(c.App.Writer, escape.Controls(fmt.Sprintf(format, args...), ""))
}

// tell prints one line on stderr: progress, warnings, what to do next. On a terminal a sentence is wrapped between words; one with a command
// in it is not, so that the command can be copied.
func tell(c *cli.Context, format string, args ...any) {
	to, text := messages(c), escape.Controls(fmt.Sprintf(format, args...), "")
	if terminal.Is(to) && !strings.Contains(text, "tidemark ") {
		text = strings.Join(terminal.Wrapped(text, terminal.Width(to)), "\n")
	}
	fmt.Fprintln(to, text)
}

// remark prints a sentence about the table. On stdout it would break CSV and JSON,
// so a program gets it on stderr.
func remark(c *cli.Context, format string, args ...any) {
	if isForPrograms(c) {
		tell(c, format, args...)
		return
	}
	text := escape.Controls(fmt.Sprintf(format, args...), "")
	fmt.Fprintln(c.App.Writer, strings.Join(terminal.Wrapped(text, terminal.Width(c.App.Writer)), "\n"))
}

// printForms prints the first of these tables that fits. They are one answer, the widest first.
func printForms(c *cli.Context, forms ...analysis.Table) error {
	return printTable(c, tables.Fitting(terminal.Width(c.App.Writer), forms...))
}

// printEnding prints sentences, the table that fits, and what a reader of the table must know.
func printEnding(c *cli.Context, ending endings.Text) error {
	for _, sentence := range ending.Lead {
		remark(c, "%s", sentence)
	}
	gap(c)
	if err := printForms(c, ending.Forms...); err != nil {
		return err
	}
	if len(ending.Notes) > 0 {
		gap(c)
	}
	for _, note := range ending.Notes {
		remark(c, "%s", note)
	}
	return nil
}

// gap prints an empty line between a table and the sentences around it.
func gap(c *cli.Context) {
	if !isForPrograms(c) {
		fmt.Fprintln(c.App.Writer)
	}
}

// tableOf is a table without rows. Callers append rows with one cell per column.
func tableOf(columns ...string) (table analysis.Table) {
	for _, name := range columns {
		table.Columns = append(table.Columns, analysis.Column{Name: name})
	}
	return table
}

// rowOf is a row of a table by the names of its columns.
type rowOf map[string]any

// rowsOf are the rows by column name, for code that formats them one by one.
func rowsOf(table analysis.Table) (rows []rowOf) {
	for _, record := range table.Records() {
		rows = append(rows, record)
	}
	return rows
}

// number is NaN where the cell is null or holds no number; hasValue tells.
func (r rowOf) number(name string) float64 {
	switch v := r[name].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		return math.NaN()
	}
}

// text is empty for null.
func (r rowOf) text(name string) string { return tables.Plain(r[name]) }

func hasValue(number float64) bool { return !math.IsNaN(number) }

// orNull is the cell of a value that may be missing: zero and empty stand for "not
// given" and become null.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// valueOrNull is the cell of an optional number.
func valueOrNull(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// For people bytes are in GB, 10^9, and in GiB, 2^30, each in a column of its own.
func gigabytes(bytes float64) string { return show.Figures(bytes / 1e9) }
func gibibytes(bytes float64) string { return show.Figures(bytes / (1 << 30)) }

// whole writes a count of tokens, requests or GPUs in full.
func whole(n float64) string { return show.Count(n) }

// tenths writes a count that is a mean, with one decimal place.
func tenths(n float64) string {
	before, after, _ := strings.Cut(strconv.FormatFloat(n, 'f', 1, 64), ".")
	count, err := strconv.ParseInt(before, 10, 64)
	if err != nil { // NaN and infinity have no digits to group
		return before
	}
	return show.Count(count) + "." + after
}
