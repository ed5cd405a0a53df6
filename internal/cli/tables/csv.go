package tables

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// csvRows writes CSV as RFC 4180 has it, with a header. Lists and objects are JSON in
// one cell, null is an empty cell.
type csvRows struct {
	out   *csv.Writer
	cells []string // reused: a large answer must not make garbage for every row
}

// NewCSV is for programs: full precision, base units.
func NewCSV(w io.Writer) *csvRows { return &csvRows{out: csv.NewWriter(w)} }

func (r *csvRows) Begin(columns []string) error {
	header := make([]string, len(columns))
	for i, name := range columns {
		header[i] = noFormula(name)
	}
	return r.out.Write(header)
}

func (r *csvRows) Row(values []any) error {
	r.cells = r.cells[:0]
	for _, value := range values {
		r.cells = append(r.cells, csvCell(value))
	}
	return r.out.Write(r.cells)
}

func (r *csvRows) End() error { return r.Flush() }

func (r *csvRows) Flush() error {
	r.out.Flush()
	return r.out.Error()
}

// csvCell is a value as a cell. Numbers are not text, so a negative one stays as it is, also as another program's table had it.
func csvCell(value any) string {
	text := Plain(value)
	if _, isText := value.(string); !isText {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return text
		}
	}
	return noFormula(text)
}

// noFormula keeps a spreadsheet from mistaking text for a formula: text that starts with one of these characters gets an apostrophe in
// front. A name of a column is text too.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
