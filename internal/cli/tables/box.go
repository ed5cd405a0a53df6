package tables

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// ErrEnough stops the query of a box that shows no more rows. It is no failure.
var ErrEnough = errors.New("enough rows are shown")

// A column of text is not made narrower than leastBoxed, nor than its longest word if that is at most longestKept: who copies
// the id of a run wants it in one piece. Above numbers a name goes on in further lines, behind its underscores.
const (
	leastBoxed  = 14
	longestKept = 40
)

// boxRows draws a table with lines around its cells. It fits the terminal: long texts go on in further lines, and columns
// that still do not fit are left out and counted. A record is never transposed.
type boxRows struct {
	out      *bufio.Writer
	width    int
	most     int // rows to be shown; 0: all
	note     string
	header   []string
	isNumber []bool
	widths   []int // of the columns that fit; nil until they are chosen
	waiting  [][]string
	shown    int
}

// NewBox is for people at a terminal. Of an answer with more than most rows it shows so many and then returns ErrEnough (0:
// all are shown). note says how to see columns that do not fit.
func NewBox(w io.Writer, width, most int, note string) *boxRows {
	return &boxRows{out: bufio.NewWriterSize(w, 1<<16), width: width, most: most, note: note}
}

func (r *boxRows) Begin(columns []string) error {
	for _, name := range columns {
		r.header = append(r.header, escape.Controls(name, ""))
	}
	r.isNumber = make([]bool, len(columns))
	return nil
}

func (r *boxRows) Row(values []any) error {
	if r.most > 0 && r.shown+len(r.waiting) == r.most {
		return ErrEnough
	}
	cells := make([]string, len(values))
	for i, value := range values {
		cells[i] = Human(r.header[i], value)
		switch value.(type) {
		case int64, float64:
			r.isNumber[i] = true // a column of numbers is written to the right
		}
	}
	if r.widths != nil {
		return r.write(cells)
	}
	if r.waiting = append(r.waiting, cells); len(r.waiting) == rowsMeasured {
		return r.choose()
	}
	return nil
}

// End closes the box and says how many rows it has.
func (r *boxRows) End() error { return r.end(false) }

// Enough closes the box of an answer that has more rows than are shown.
func (r *boxRows) Enough() error { return r.end(true) }

func (r *boxRows) end(isCut bool) error {
	if err := r.choose(); err != nil {
		return err
	}
	r.rule("└", "┴", "┘")
	switch {
	case isCut:
		fmt.Fprintf(r.out, "the first %s of more rows\n", show.Count(r.shown))
	case r.shown != 1:
		fmt.Fprintf(r.out, "%s\n", show.Things(r.shown, "row", "rows"))
	}
	if hidden := len(r.header) - len(r.widths); hidden > 0 {
		fmt.Fprintf(r.out, "%d of %d columns fit; %s\n", len(r.widths), len(r.header), r.note)
	}
	return r.out.Flush()
}

// Flush drops rows that wait for their layout: an error follows them.
func (r *boxRows) Flush() error {
	if r.widths == nil {
		return nil
	}
	return r.out.Flush()
}

// choose fits the columns into the terminal's width by the first rows, and prints these.
func (r *boxRows) choose() error {
	if r.widths != nil {
		return nil
	}
	widths, least := columnWidths(r.header, r.waiting), r.leastWidths()
	for boxed(widths) > r.width {
		widest := -1
		for i, width := range widths {
			if width > least[i] && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for len(widths) > 1 && boxed(widths) > r.width {
		widths = widths[:len(widths)-1]
	}
	widths = r.widened(widths)
	r.widths = widths
	r.rule("┌", "┬", "┐")
	if err := r.line(r.header, true); err != nil {
		return err
	}
	r.rule("├", "┼", "┤")
	for _, cells := range r.waiting {
		if err := r.write(cells); err != nil {
			return err
		}
	}
	r.waiting = nil
	return nil
}

// leastWidths are how narrow each column may become.
func (r *boxRows) leastWidths() []int {
	least := make([]int, len(r.header))
	for i, name := range r.header {
		least[i] = max(leastBoxed, min(longestKept, utf8.RuneCountInString(name)))
		if r.isNumber[i] {
			least[i] = 0
			for part := range strings.SplitAfterSeq(name, "_") {
				least[i] = max(least[i], min(longestKept, utf8.RuneCountInString(part)))
			}
		}
	}
	for _, cells := range r.waiting {
		for i, cell := range cells {
			for _, word := range terminal.Words(cell) {
				if length := utf8.RuneCountInString(word); length <= longestKept || r.isNumber[i] {
					least[i] = max(least[i], length)
				}
			}
		}
	}
	return least
}

// widened gives the room that columns left out have freed to the texts that were made narrower for them.
func (r *boxRows) widened(widths []int) []int {
	natural := columnWidths(r.header, r.waiting)
	for isWider := true; isWider && boxed(widths) < r.width; {
		isWider = false
		for i := range widths {
			if widths[i] < natural[i] && boxed(widths) < r.width {
				widths[i]++
				isWider = true
			}
		}
	}
	return widths
}

// boxed is the width of a box: a line at each end, and a line between each two columns, with a space around every cell.
func boxed(widths []int) int {
	sum := 1
	for _, width := range widths {
		sum += width + 3
	}
	return sum
}

func (r *boxRows) rule(left, middle, right string) {
	parts := make([]string, len(r.widths))
	for i, width := range r.widths {
		parts[i] = strings.Repeat("─", width+2)
	}
	r.out.WriteString(left + strings.Join(parts, middle) + right + "\n")
}

func (r *boxRows) write(cells []string) error {
	r.shown++
	return r.line(cells, false)
}

// line writes a row. Texts and names may take several lines, numbers take one.
func (r *boxRows) line(cells []string, areNames bool) error {
	lines := make([][]string, len(r.widths))
	height := 1
	for i, width := range r.widths {
		switch lines[i] = []string{cells[i]}; {
		case areNames && r.isNumber[i]:
			lines[i] = foldedName(cells[i], width)
		case areNames || !r.isNumber[i]:
			lines[i] = folded(cells[i], width)
		}
		height = max(height, len(lines[i]))
	}
	for k := range height {
		for i, width := range r.widths {
			cell := ""
			if k < len(lines[i]) {
				cell = lines[i][k]
			}
			gap := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
			if r.isNumber[i] {
				cell = gap + cell
			} else {
				cell += gap
			}
			r.out.WriteString("│ " + cell + " ")
		}
		if _, err := r.out.WriteString("│\n"); err != nil {
			return err
		}
	}
	return nil
}

// foldedName breaks a name behind its underscores.
func foldedName(name string, width int) (lines []string) {
	line := ""
	for part := range strings.SplitAfterSeq(name, "_") {
		if line != "" && utf8.RuneCountInString(line+part) > width {
			lines, line = append(lines, line), ""
		}
		line += part
	}
	return append(lines, folded(line, width)...)
}

// folded breaks a cell into lines of at most so many characters: between words, and a longer word anywhere.
func folded(cell string, width int) []string {
	if utf8.RuneCountInString(cell) <= width && !strings.ContainsAny(cell, "\n\t") {
		return []string{cell}
	}
	var lines []string
	for _, line := range terminal.Wrapped(cell, width) {
		letters := []rune(line)
		for len(letters) > width {
			lines = append(lines, string(letters[:width]))
			letters = letters[width:]
		}
		lines = append(lines, string(letters))
	}
	return lines
}
