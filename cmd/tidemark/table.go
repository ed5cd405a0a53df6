package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// printTable writes a table in the form that was asked for: CSV or JSON in full
// precision and base units, else for people.
func printTable(c *cli.Context, table analysis.Table) error {
	rows, err := rowsFor(c)
	if err != nil {
		return err
	}
	return writeRows(rows, table)
}

// rowsFor prints rows one after the other in the form that was asked for.
func rowsFor(c *cli.Context) (rowWriter, error) {
	switch {
	case c.Bool("csv") && c.Bool("json"):
		return nil, hint.Misuse("%s: --csv and --json exclude each other", c.Command.Name)
	case c.Bool("csv"):
		return newCSVRows(product(c.App.Writer)), nil
	case c.Bool("json"):
		return newJSONRows(product(c.App.Writer)), nil
	}
	return newTextRows(c.App.Writer, terminalWidth(c.App.Writer)), nil
}

// rowWriter prints a table of any length without holding it.
type rowWriter interface {
	begin(columns []analysis.Column) error
	row(values []any) error // keeps nothing of values
	end() error
	flush() error // prints whole rows that came before an error
}

func writeRows(rows rowWriter, table analysis.Table) error {
	if err := rows.begin(table.Columns); err != nil {
		return err
	}
	for _, row := range table.Rows {
		if err := rows.row(row); err != nil {
			return err
		}
	}
	return rows.end()
}

func writeCSV(w io.Writer, table analysis.Table) error { return writeRows(newCSVRows(w), table) }

func writeText(w io.Writer, table analysis.Table, width int) error {
	return writeRows(newTextRows(w, width), table)
}

type csvRows struct {
	out   *csv.Writer
	cells []string
}

func newCSVRows(w io.Writer) *csvRows { return &csvRows{out: csv.NewWriter(w)} }

func (r *csvRows) begin(columns []analysis.Column) error { return r.out.Write(names(columns)) }

func (r *csvRows) row(values []any) error {
	r.cells = r.cells[:0]
	for _, value := range values {
		r.cells = append(r.cells, csvCell(value))
	}
	return r.out.Write(r.cells)
}

func (r *csvRows) end() error { return r.flush() }

func (r *csvRows) flush() error {
	r.out.Flush()
	return r.out.Error()
}

// csvCell keeps a spreadsheet from taking text for a formula.
func csvCell(value any) string {
	text, isText := value.(string)
	if isText && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return plain(value)
}

// plain is a value in full precision; lists are JSON.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any, map[string]any:
		text, err := json.Marshal(jsonable(v))
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	default:
		return fmt.Sprint(v)
	}
}

// jsonRows keeps the order of the columns, which a map would lose.
type jsonRows struct {
	out     *bufio.Writer
	columns []analysis.Column
	names   []string // as JSON
	count   int
}

func newJSONRows(w io.Writer) *jsonRows { return &jsonRows{out: bufio.NewWriterSize(w, 1<<16)} }

func (r *jsonRows) begin(columns []analysis.Column) error {
	r.columns = columns
	for _, column := range columns {
		name, err := json.Marshal(column.Name)
		if err != nil {
			return err
		}
		r.names = append(r.names, string(name))
	}
	_, err := r.out.WriteString("[")
	return err
}

func (r *jsonRows) row(values []any) error {
	line := []byte(map[bool]string{true: "\n  {", false: ",\n  {"}[r.count == 0])
	r.count++
	for i, value := range values {
		if i > 0 {
			line = append(line, ", "...)
		}
		text, err := json.Marshal(jsonable(value))
		if err != nil {
			return fmt.Errorf("column %s: %w", r.columns[i].Name, err)
		}
		line = append(append(append(line, r.names[i]...), ": "...), text...)
	}
	_, err := r.out.Write(append(line, '}'))
	return err
}

func (r *jsonRows) end() error {
	r.out.WriteString("\n]\n")
	return r.out.Flush()
}

func (r *jsonRows) flush() error {
	if r.count == 0 {
		return nil
	}
	return r.out.Flush()
}

// jsonable turns what JSON has no number for into its name.
func jsonable(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []any:
		for i := range v {
			v[i] = jsonable(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = jsonable(v[key])
		}
	}
	return value
}

func names(columns []analysis.Column) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return names
}

// readable is a value with its unit and three significant digits. The unit is
// in the column's name.
func readable(column string, value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case float64:
		return readableNumber(column, v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05")
	default:
		return escape.Controls(plain(v), "\n\t")
	}
}

// readableNumber writes a number by what its column's name ends in.
func readableNumber(column string, v float64) string {
	switch {
	case strings.HasSuffix(column, "_per_s"):
		return show.Figures(v) + "/s"
	case strings.HasSuffix(column, "_s"):
		return show.Duration(v)
	default:
		return show.Number(v)
	}
}
