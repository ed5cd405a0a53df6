package kit

// How a verb answers: a table or a sentence on stdout, everything else on stderr.
//
// With --csv and --json stdout belongs to a program. The table is then complete, in
// base units and full precision, and sentences go to stderr. Without them a person
// reads: fewer columns, rounded figures with units, sentences around the table.

import (
	"context"
	"fmt"
	"io"
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

// IsForPrograms reports whether stdout is read by a program.
func IsForPrograms(c *cli.Context) bool { return c.Bool("csv") || c.Bool("json") }

// PrintTable writes a table in the requested form: CSV or JSON in full precision
// and base units, otherwise for people.
func PrintTable(c *cli.Context, table analysis.Table) error {
	rows, err := RowsFor(c)
	if err != nil {
		return err
	}
	return tables.Write(rows, table)
}

// RowsFor prints rows one by one in the requested form. CSV and JSON go through
// terminal.Product, so that a file or a pipe gets the values byte for byte.
func RowsFor(c *cli.Context) (tables.Writer, error) {
	if err := Exclusive(c, "csv", "json"); err != nil {
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

// PrintList prints a table that people look through, a row for each thing: boxed on a terminal, and never transposed. note says how to see
// columns that do not fit.
func PrintList(c *cli.Context, table analysis.Table, note string) error {
	width := terminal.Width(c.App.Writer)
	switch {
	case IsForPrograms(c):
		return PrintTable(c, table)
	case terminal.Is(c.App.Writer):
		return tables.Write(tables.NewBox(c.App.Writer, width, 0, note), table)
	}
	return tables.Write(tables.NewList(c.App.Writer, width), table)
}

// PrintQuery asks the warehouse and prints the answer.
func PrintQuery(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, query string, args ...any) error {
	table, err := answers.Query(ctx, w.DB(), query, args...)
	if err != nil {
		return err
	}
	return PrintTable(c, table)
}

// PrintLine prints one line on stdout.
func PrintLine(c *cli.Context, format string, args ...any) {
	fmt.Fprintln(c.App.Writer, escape.Controls(fmt.Sprintf(format, args...), ""))
}

// Tell prints one line on stderr: progress, warnings, what to do next. On a terminal a sentence is wrapped between words; one with a command
// in it is not, so that the command can be copied.
func Tell(c *cli.Context, format string, args ...any) {
	to, text := Messages(c), escape.Controls(fmt.Sprintf(format, args...), "")
	if terminal.Is(to) && !strings.Contains(text, "tidemark ") {
		text = strings.Join(terminal.Wrapped(text, terminal.Width(to)), "\n")
	}
	fmt.Fprintln(to, text)
}

// Remark prints a sentence about the table. On stdout it would break CSV and JSON,
// so a program gets it on stderr.
func Remark(c *cli.Context, format string, args ...any) {
	if IsForPrograms(c) {
		Tell(c, format, args...)
		return
	}
	text := escape.Controls(fmt.Sprintf(format, args...), "")
	fmt.Fprintln(c.App.Writer, strings.Join(terminal.Wrapped(text, terminal.Width(c.App.Writer)), "\n"))
}

// PrintForms prints the first of these tables that fits. They are one answer, the widest first.
func PrintForms(c *cli.Context, forms ...analysis.Table) error {
	return PrintTable(c, tables.Fitting(terminal.Width(c.App.Writer), forms...))
}

// PrintEnding prints sentences, the table that fits, and what a reader of the table must know.
func PrintEnding(c *cli.Context, ending endings.Text) error {
	for _, sentence := range ending.Lead {
		Remark(c, "%s", sentence)
	}
	Gap(c)
	if err := PrintForms(c, ending.Forms...); err != nil {
		return err
	}
	if len(ending.Notes) > 0 {
		Gap(c)
	}
	for _, note := range ending.Notes {
		Remark(c, "%s", note)
	}
	return nil
}

// Gap prints an empty line between a table and the sentences around it.
func Gap(c *cli.Context) {
	if !IsForPrograms(c) {
		fmt.Fprintln(c.App.Writer)
	}
}

// TableOf is a table without rows. Callers append rows with one cell per column.
func TableOf(columns ...string) (table analysis.Table) {
	for _, name := range columns {
		table.Columns = append(table.Columns, analysis.Column{Name: name})
	}
	return table
}

// RowOf is a row of a table by the names of its columns.
type RowOf map[string]any

// RowsOf are the rows by column name, for code that formats them one by one.
func RowsOf(table analysis.Table) (rows []RowOf) {
	for _, record := range table.Records() {
		rows = append(rows, record)
	}
	return rows
}

// Number is NaN where the cell is null or holds no number; HasValue tells.
func (r RowOf) Number(name string) float64 {
	switch v := r[name].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		return math.NaN()
	}
}

// Text is empty for null.
func (r RowOf) Text(name string) string { return tables.Plain(r[name]) }

func HasValue(number float64) bool { return !math.IsNaN(number) }

// OrNull is the cell of a value that may be missing: zero and empty stand for "not
// given" and become null.
func OrNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// ValueOrNull is the cell of an optional number.
func ValueOrNull(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// For people bytes are in GB, 10^9, and in GiB, 2^30, each in a column of its own.
func Gigabytes(bytes float64) string { return show.Figures(bytes / 1e9) }
func Gibibytes(bytes float64) string { return show.Figures(bytes / (1 << 30)) }

// Whole writes a count of tokens, requests or GPUs in full.
func Whole(n float64) string { return show.Count(n) }

// Tenths writes a count that is a mean, with one decimal place.
func Tenths(n float64) string {
	before, after, _ := strings.Cut(strconv.FormatFloat(n, 'f', 1, 64), ".")
	count, err := strconv.ParseInt(before, 10, 64)
	if err != nil { // NaN and infinity have no digits to group
		return before
	}
	return show.Count(count) + "." + after
}

// Messages is where a verb writes what a person should know: stderr, or nowhere
// with --quiet.
func Messages(c *cli.Context) io.Writer {
	if c.Bool("quiet") {
		return io.Discard
	}
	return c.App.ErrWriter
}

func Megabytes(bytes int64) string { return fmt.Sprintf("%s MB", show.Figures(float64(bytes)/1e6)) }

// Labelled writes a text next to its name, in as many lines as it takes.
func Labelled(b *strings.Builder, name string, column int, text string, width int) {
	room := max(tables.LeastText, width-column)
	for _, line := range terminal.Wrapped(escape.Controls(text, ""), room) {
		for ; len(line) > room; line = line[room:] { // one word, as a path
			fmt.Fprintf(b, "%-*s%s\n", column, name, line[:room])
			name = ""
		}
		fmt.Fprintf(b, "%-*s%s\n", column, name, line)
		name = ""
	}
}
