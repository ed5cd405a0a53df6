package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"tidemark/analysis"
	"tidemark/internal/hint"
)

// printTable writes a table in the form that was asked for: CSV or JSON in full
// precision and base units, else for people.
func printTable(c *cli.Context, table analysis.Table) error {
	switch {
	case c.Bool("csv") && c.Bool("json"):
		return hint.Misuse("%s: --csv and --json exclude each other", c.Command.Name)
	case c.Bool("csv"):
		return writeCSV(c.App.Writer, table)
	case c.Bool("json"):
		return writeJSON(c.App.Writer, table)
	default:
		return writeText(c.App.Writer, table, terminalWidth(c.App.Writer))
	}
}

func writeCSV(w io.Writer, table analysis.Table) error {
	out := csv.NewWriter(w)
	if err := out.Write(names(table)); err != nil {
		return err
	}
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = csvCell(value)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
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

// writeJSON keeps the order of the columns, which a map would lose.
func writeJSON(w io.Writer, table analysis.Table) error {
	var b strings.Builder
	b.WriteString("[")
	for i, row := range table.Rows {
		b.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == 0])
		b.WriteString("  {")
		for j, value := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			name, _ := json.Marshal(table.Columns[j].Name)
			text, err := json.Marshal(jsonable(value))
			if err != nil {
				return fmt.Errorf("column %s: %w", table.Columns[j].Name, err)
			}
			b.Write(name)
			b.WriteString(": ")
			b.Write(text)
		}
		b.WriteString("}")
	}
	b.WriteString("\n]\n")
	_, err := io.WriteString(w, b.String())
	return err
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
	}
	return value
}

func names(table analysis.Table) []string {
	names := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		names[i] = column.Name
	}
	return names
}

// leastText is the width below which a column of text is not worth reading.
const leastText = 30

// writeText lays a table out for people: aligned columns where they fit the
// terminal, else one block of lines a row.
func writeText(w io.Writer, table analysis.Table, width int) error {
	header := names(table)
	cells := make([][]string, len(table.Rows))
	for i, row := range table.Rows {
		cells[i] = make([]string, len(row))
		for j, value := range row {
			cells[i][j] = readable(header[j], value)
		}
	}
	var b strings.Builder
	widths := columnWidths(header, cells)
	last := len(widths) - 1
	if left := width - (total(widths) - widths[last]); left < widths[last] && left >= leastText && !isNumber(table, last) {
		widths[last] = left // its text goes on in further lines
	}
	if total(widths) <= width {
		writeAligned(&b, table, header, cells, widths)
	} else {
		writeBlocks(&b, header, cells, width)
	}
	if len(cells) == 0 {
		b.WriteString("(no rows)\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func columnWidths(header []string, cells [][]string) []int {
	widths := make([]int, len(header))
	for j, name := range header {
		widths[j] = utf8.RuneCountInString(name)
	}
	for _, row := range cells {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

func writeAligned(b *strings.Builder, table analysis.Table, header []string, cells [][]string, widths []int) {
	last := len(widths) - 1
	line := func(row []string) {
		var text strings.Builder
		further := []string(nil)
		for j, cell := range row {
			if j == last && utf8.RuneCountInString(cell) > widths[j] {
				lines := wrapped(cell, widths[j])
				cell, further = lines[0], lines[1:]
			}
			gap := strings.Repeat(" ", max(0, widths[j]-utf8.RuneCountInString(cell)))
			if j > 0 {
				text.WriteString("  ")
			}
			if isNumber(table, j) {
				text.WriteString(gap + cell)
			} else {
				text.WriteString(cell + gap)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
		for _, more := range further {
			b.WriteString(strings.Repeat(" ", total(widths)-widths[last]) + more + "\n")
		}
	}
	line(header)
	for _, row := range cells {
		line(row)
	}
}

func isNumber(table analysis.Table, column int) bool {
	for _, row := range table.Rows {
		switch row[column].(type) {
		case int64, float64:
			return true
		case string, bool, time.Time:
			return false
		}
	}
	return false
}

func writeBlocks(b *strings.Builder, header []string, cells [][]string, width int) {
	widest := 0
	for _, name := range header {
		widest = max(widest, len(name))
	}
	for i, row := range cells {
		if i > 0 {
			b.WriteString("\n")
		}
		for j, cell := range row {
			lines := wrapped(cell, max(leastText, width-widest-2))
			fmt.Fprintf(b, "%-*s  %s\n", widest, header[j], lines[0])
			for _, more := range lines[1:] {
				fmt.Fprintf(b, "%*s  %s\n", widest, "", more)
			}
		}
	}
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
		return printable(plain(v), "\n\t")
	}
}

func readableNumber(column string, v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case strings.HasSuffix(column, "_per_s"):
		return digits(v) + "/s"
	case strings.HasSuffix(column, "_s") && math.Abs(v) < 1:
		return digits(v*1e3) + " ms"
	case strings.HasSuffix(column, "_s"):
		return digits(v) + " s"
	default:
		return digits(v)
	}
}

// digits is a number to three significant digits, never in powers of ten
// between a thousandth and a billion.
func digits(v float64) string {
	size := math.Abs(v)
	if size == 0 || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if size < 1e-3 || size >= 1e9 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(size))))
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// terminalWidth is the width of the terminal that w is, else of a usual one.
func terminalWidth(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return 80
}

// isTerminal reports whether a person looks at w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
