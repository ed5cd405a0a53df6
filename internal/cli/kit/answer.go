package kit

// How a verb answers: a table or a sentence on stdout, everything else on stderr.
//
// With --csv and --json stdout belongs to a program. The table is then complete, in
// base units and full precision, and sentences go to stderr. Without them a person
// reads: fewer columns, rounded figures with units, sentences around the table.

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// IsForPrograms reports whether stdout is read by a program.
func (c *Call) IsForPrograms() bool { return c.CSV || c.JSON }

// PrintTable writes a table in the requested form: CSV or JSON in full precision
// and base units, otherwise for people.
func (c *Call) PrintTable(table analysis.Table) error {
	rows, err := c.RowsFor()
	if err != nil {
		return err
	}
	return tables.Write(rows, table)
}

// RowsFor prints rows one by one in the requested form. CSV and JSON go through
// terminal.Product, so that a file or a pipe gets the values byte for byte.
func (c *Call) RowsFor() (tables.Writer, error) {
	if err := c.Exclusive("csv", "json"); err != nil {
		return nil, err
	}
	switch {
	case c.CSV:
		return tables.NewCSV(terminal.Product(c.App.Writer)), nil
	case c.JSON:
		return tables.NewJSON(terminal.Product(c.App.Writer)), nil
	}
	return tables.NewText(c.App.Writer, terminal.Width(c.App.Writer)), nil
}

// PrintList prints a table that people look through, a row for each thing: boxed on a terminal, and never transposed. note says how to see
// columns that do not fit.
func (c *Call) PrintList(table analysis.Table, note string) error {
	width := terminal.Width(c.App.Writer)
	switch {
	case c.IsForPrograms():
		return c.PrintTable(table)
	case terminal.Is(c.App.Writer):
		return tables.Write(tables.NewBox(c.App.Writer, width, 0, note), table)
	}
	return tables.Write(tables.NewList(c.App.Writer, width), table)
}

// PrintAnswer prints the answer to a question, or returns its error.
func (c *Call) PrintAnswer(table analysis.Table, err error) error {
	if err != nil {
		return err
	}
	return c.PrintTable(table)
}

// PrintLine prints one line on stdout.
func (c *Call) PrintLine(format string, args ...any) {
	fmt.Fprintln(c.App.Writer, escape.Controls(fmt.Sprintf(format, args...), ""))
}

// Tell prints one line on stderr: progress, warnings, what to do next. On a terminal a sentence is wrapped between words; one with a command
// in it is not, so that the command can be copied.
func (c *Call) Tell(format string, args ...any) {
	to, text := c.Messages(), escape.Controls(fmt.Sprintf(format, args...), "")
	if terminal.Is(to) && !strings.Contains(text, "tidemark ") {
		text = strings.Join(terminal.Wrapped(text, terminal.Width(to)), "\n")
	}
	fmt.Fprintln(to, text)
}

// Remark prints a sentence about the table. On stdout it would break CSV and JSON,
// so a program gets it on stderr.
func (c *Call) Remark(format string, args ...any) {
	if c.IsForPrograms() {
		c.Tell(format, args...)
		return
	}
	text := escape.Controls(fmt.Sprintf(format, args...), "")
	fmt.Fprintln(c.App.Writer, strings.Join(terminal.Wrapped(text, terminal.Width(c.App.Writer)), "\n"))
}

// PrintForms prints the first of these tables that fits. They are one answer, the widest first.
func (c *Call) PrintForms(forms ...analysis.Table) error {
	return c.PrintTable(tables.Fitting(terminal.Width(c.App.Writer), forms...))
}

// PrintEnding prints sentences, the table that fits, and what a reader of the table must know.
func (c *Call) PrintEnding(ending endings.Text) error {
	for _, sentence := range ending.Lead {
		c.Remark("%s", sentence)
	}
	c.Gap()
	if err := c.PrintForms(ending.Forms...); err != nil {
		return err
	}
	if len(ending.Notes) > 0 {
		c.Gap()
	}
	for _, note := range ending.Notes {
		c.Remark("%s", note)
	}
	return nil
}

// Gap prints an empty line between a table and the sentences around it.
func (c *Call) Gap() {
	if !c.IsForPrograms() {
		fmt.Fprintln(c.App.Writer)
	}
}

// TableOf is a table without rows. Callers append rows with one cell per column.
func TableOf(columns ...string) analysis.Table { return answers.TableOf(columns...) }

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

// For people bytes are in GB, 10^9, and in GiB, 2^30, each in a column of its own.
func Gigabytes(bytes float64) string { return show.Figures(bytes / 1e9) }
func Gibibytes(bytes float64) string { return show.Figures(bytes / (1 << 30)) }

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
func (c *Call) Messages() io.Writer {
	if c.Quiet {
		return io.Discard
	}
	return c.App.ErrWriter
}

// Doing shows on a terminal what a verb waits for, until end is called.
func (c *Call) Doing(verb string) (told func(what string), end func()) {
	w := c.Messages()
	if !terminal.Is(w) {
		return nil, func() {}
	}
	return func(what string) { terminal.Redraw(w, []string{verb + ": " + what + " ..."}) }, func() { terminal.Redraw(w, nil) }
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
