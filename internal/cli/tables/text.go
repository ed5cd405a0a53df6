package tables

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
)

const (
	// LeastText is the width below which a column of text is not worth reading.
	LeastText = 30
	// rowsMeasured is the number of rows that the layout is chosen from. Later rows
	// are printed as they come: a value wider than its column is not cut, it moves
	// the rest of its line to the right.
	rowsMeasured = 1000
)

// layout is how rows are set out.
type layout int

const (
	fitting layout = iota // columns where they fit the terminal, otherwise a block of lines per row
	columns               // always columns, however wide
	blocks                // always a block of lines per row
	folding               // always columns; a last one of text goes on in further lines
)

// textRows shows a table as aligned columns, or as a block of lines per row.
type textRows struct {
	out       *bufio.Writer
	width     int
	layout    layout
	written   func(column string, value any) string // one value
	header    []string
	isNumber  []bool
	isText    []bool
	widths    []int      // of the columns; nil: a block per row
	measured  [][]string // until the layout is chosen
	isChosen  bool
	isFurther bool // a block was printed before
}

// NewText is for people. The first rows decide between columns and blocks, so nothing
// is printed until rowsMeasured rows or the end have come.
func NewText(w io.Writer, width int) *textRows {
	return &textRows{out: bufio.NewWriterSize(w, 1<<16), width: width, written: Readable}
}

// NewLines is for people who ask for it: a record is transposed, one line per value.
func NewLines(w io.Writer, width int) *textRows {
	return &textRows{out: bufio.NewWriterSize(w, 1<<16), width: width, layout: blocks, written: Human}
}

// NewExact is for a file or a pipe: aligned columns, however wide, in full precision and base units.
func NewExact(w io.Writer) *textRows {
	return &textRows{out: bufio.NewWriterSize(w, 1<<16), layout: columns, written: exact}
}

// NewList is for a list that people look through: aligned columns, of which the last goes on below itself. No row is transposed.
func NewList(w io.Writer, width int) *textRows {
	return &textRows{out: bufio.NewWriterSize(w, 1<<16), width: width, layout: folding, written: Readable}
}

func (r *textRows) Begin(columns []string) error {
	for _, name := range columns {
		r.header = append(r.header, escape.Controls(name, ""))
	}
	r.isNumber, r.isText = make([]bool, len(columns)), make([]bool, len(columns))
	return nil
}

func (r *textRows) Row(values []any) error {
	cells := make([]string, len(values))
	for i, value := range values {
		cells[i] = r.written(r.header[i], value)
		r.classify(i, value)
	}
	if r.isChosen {
		return r.write(cells)
	}
	if r.measured = append(r.measured, cells); len(r.measured) == rowsMeasured {
		return r.choose()
	}
	return nil
}

// classify finds a column's kind from its first value that is not null.
func (r *textRows) classify(column int, value any) {
	if r.isChosen || r.isNumber[column] || r.isText[column] {
		return
	}
	switch value.(type) {
	case int64, float64, Figure:
		r.isNumber[column] = true
	case string, bool, time.Time:
		r.isText[column] = true
	}
}

// End prints what was measured and waits for its layout. An empty table says so: a
// user who sees nothing may think that the program failed.
func (r *textRows) End() error {
	isEmpty := !r.isChosen && len(r.measured) == 0
	if err := r.choose(); err != nil {
		return err
	}
	if isEmpty {
		r.out.WriteString("(no rows)\n")
	}
	return r.out.Flush()
}

// Flush drops the rows whose layout was never chosen: an error follows them, and a
// user who sees a few rows may think that these are all.
func (r *textRows) Flush() error {
	if !r.isChosen {
		return nil
	}
	return r.out.Flush()
}

// choose picks the layout that suits the first rows, and prints them.
func (r *textRows) choose() error {
	if r.isChosen {
		return nil
	}
	r.isChosen = true
	widths := columnWidths(r.header, r.measured)
	if r.layout == columns {
		r.width = total(widths)
	}
	if last := len(widths) - 1; last >= 0 && !r.isNumber[last] {
		if left := r.width - (total(widths) - widths[last]); left < widths[last] && (left >= LeastText || r.layout == folding) {
			widths[last] = min(widths[last], max(left, LeastText)) // its text goes on in further lines
		}
	}
	if r.layout == folding || total(widths) <= r.width && r.layout != blocks {
		r.widths = widths
		if err := r.write(r.header); err != nil {
			return err
		}
	}
	for _, cells := range r.measured {
		if err := r.write(cells); err != nil {
			return err
		}
	}
	r.measured = nil
	return nil
}

func (r *textRows) write(cells []string) error {
	var b strings.Builder
	if r.widths != nil {
		r.writeAligned(&b, cells)
	} else {
		r.writeBlock(&b, cells)
	}
	_, err := r.out.WriteString(b.String())
	return err
}

// Figure is a number that is written already, with its unit. It stands to the right, as numbers do.
type Figure string

// Fitting is the first of these tables that is at most so wide as text, otherwise the last. They are one answer, the widest first.
func Fitting(width int, forms ...answers.Table) answers.Table {
	for _, table := range forms {
		cells := make([][]string, len(table.Rows))
		for i, row := range table.Rows {
			for j, value := range row {
				cells[i] = append(cells[i], Readable(table.Columns[j], value))
			}
		}
		if total(columnWidths(table.Columns, cells)) <= width {
			return table
		}
	}
	return forms[len(forms)-1]
}

// columnWidths are the widest cells of each column, with the header.
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

// total is the width of a line: the columns and two spaces between each two of them.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// writeAligned writes a row in columns. The last column may continue on further
// lines.
func (r *textRows) writeAligned(b *strings.Builder, cells []string) {
	last := len(r.widths) - 1
	var line strings.Builder
	var further []string
	for j, cell := range cells {
		if j == last && utf8.RuneCountInString(cell) > r.widths[j] && !r.isNumber[j] {
			lines := terminal.Wrapped(cell, r.widths[j])
			cell, further = lines[0], lines[1:]
		}
		gap := strings.Repeat(" ", max(0, r.widths[j]-utf8.RuneCountInString(cell)))
		if j > 0 {
			line.WriteString("  ")
		}
		if r.isNumber[j] {
			line.WriteString(gap + cell)
		} else {
			line.WriteString(cell + gap)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	for _, more := range further {
		b.WriteString(strings.Repeat(" ", total(r.widths)-r.widths[last]) + more + "\n")
	}
}

// writeBlock writes a row as one line per value, under the values' names.
func (r *textRows) writeBlock(b *strings.Builder, cells []string) {
	widest := 0
	for _, name := range r.header {
		widest = max(widest, len(name))
	}
	if r.isFurther {
		b.WriteString("\n")
	}
	r.isFurther = true
	for j, cell := range cells {
		lines := terminal.Wrapped(cell, max(LeastText, r.width-widest-2))
		fmt.Fprintf(b, "%-*s  %s\n", widest, r.header[j], lines[0])
		for _, more := range lines[1:] {
			fmt.Fprintf(b, "%*s  %s\n", widest, "", more)
		}
	}
}
