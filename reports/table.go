package reports

import (
	"math"
	"strconv"
	"strings"

	"tidemark/internal/show"
)

// A column's name decides how it is shown, because names end in their unit: _s is a time, _ratio a percentage, _per_s a rate.

// Table is a result as people read it.
type Table struct {
	Title   string // the finding, bold; empty: the caption alone
	Caption string
	Heads   []string
	Numeric []bool
	Rows    [][]string
	IsLong  bool // too long for paper
	Scrolls bool // on a phone sideways: the numbers behind a chart
	Stacks  bool // its rows become cards on a phone
}

// longTable is the number of rows above which a table is left out on paper.
const longTable = 24

// narrowTable is the number of columns up to which a table has its natural width.
const narrowTable = 5

// shown is the table of a section: with more columns than a phone has room for its rows become cards there.
func (r *Result) shown(caption string) Table {
	t := r.table(caption)
	texts := 0
	for _, isNumber := range t.Numeric {
		if !isNumber {
			texts++
		}
	}
	t.Scrolls, t.Stacks = false, len(r.Columns) >= narrowTable || texts > 2
	return t
}

func (r *Result) table(caption string) Table {
	t := Table{Caption: caption, Rows: make([][]string, len(r.Rows)), IsLong: len(r.Rows) > longTable, Scrolls: len(r.Columns) > narrowTable}
	for c, column := range r.Columns {
		head, write := r.style(c)
		t.Heads = append(t.Heads, head)
		isNumeric := true
		for i, row := range r.Rows {
			_, isNumber := number(row[c])
			isNumeric = isNumeric && (row[c] == nil || isNumber)
			t.Rows[i] = append(t.Rows[i], cellText(column, row[c], write))
		}
		t.Numeric = append(t.Numeric, isNumeric && len(r.Rows) > 0)
	}
	return t
}

// cellText writes a cell. A missing p99 is withheld for too few samples; any other missing value is unknown.
func cellText(column string, v any, write func(float64) string) string {
	if n, ok := number(v); ok {
		return write(n)
	}
	if v == nil && strings.HasPrefix(column, "p99_") {
		return withheld
	}
	return plain(v)
}

// style is a column's heading with its unit, and how its numbers are written.
func (r *Result) style(column int) (head string, write func(float64) string) {
	name := r.Columns[column]
	switch {
	case r.Place("term") >= 0 && strings.HasSuffix(name, "_ratio"):
		return show.Words(strings.TrimSuffix(name, "_ratio")) + ", %", summand(100*r.largest(column), 100)
	case r.Place("term") >= 0 && strings.HasSuffix(name, "_s"):
		u := show.UnitOf(r.largest(column))
		return show.Words(strings.TrimSuffix(name, "_s")) + ", " + u.Name, summand(u.Factor*r.largest(column), u.Factor)
	case strings.HasSuffix(name, "_per_s"):
		return show.Words(strings.TrimSuffix(name, "_per_s")) + ", /s", show.Figures
	case strings.HasSuffix(name, "_s"):
		u := show.UnitOf(r.largest(column))
		return show.Words(strings.TrimSuffix(name, "_s")) + ", " + u.Name, func(s float64) string { return show.Figures(s * u.Factor) }
	case name == "slowdown_ratio", name == "floor_ratio", strings.HasSuffix(name, "speedup_ratio"):
		return show.Words(strings.TrimSuffix(name, "_ratio")) + ", ×", show.Figures
	case strings.HasSuffix(name, "_ratio"):
		return show.Words(strings.TrimSuffix(name, "_ratio")) + ", %", func(share float64) string { return show.Figures(share * 100) }
	case name == "quantile":
		return "quantile, %", func(q float64) string { return show.Plain(q * 100) }
	}
	if r.isWhole(column) {
		return show.Words(name), func(n float64) string { return show.Count(n) }
	}
	return show.Words(name), show.Figures
}

// summand writes the terms of a sum with the decimals of the largest: more figures of a small one would claim a precision that the sum lacks.
func summand(largest, factor float64) func(float64) string {
	_, decimals, _ := strings.Cut(show.Figures(largest), ".")
	return func(v float64) string {
		text := strconv.FormatFloat(v*factor, 'f', len(decimals), 64)
		if number, _ := strconv.ParseFloat(text, 64); number == 0 {
			return "0"
		}
		return text
	}
}

// isWhole says that a column has only whole numbers: it counts something.
func (r *Result) isWhole(column int) bool {
	for _, row := range r.Rows {
		if n, ok := number(row[column]); ok && n != math.Trunc(n) {
			return false
		}
	}
	return true
}

// largest is the largest absolute number of a column, from which its unit is chosen.
func (r *Result) largest(column int) float64 {
	largest := 0.0
	for _, row := range r.Rows {
		if n, ok := number(row[column]); ok {
			largest = math.Max(largest, math.Abs(n))
		}
	}
	return largest
}
