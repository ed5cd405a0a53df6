package reports

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/queries"
	"tidemark/reports/plot"
)

// Result is what a view answered. Sections read it by column name.
type Result struct {
	answers.Table
	Query string // as a reader can ask it again, values in place
}

// ask puts a query to the warehouse. view names the relation that answers, whose comment explains the rows.
func ask(ctx context.Context, db *sql.DB, view, query string, args ...any) (*Result, error) {
	table, err := answers.Ask(ctx, db, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", view, err)
	}
	table.Name, table.Comment = view, queries.Comment(view)
	return &Result{Table: table, Query: inPlace(query, args)}, nil
}

// View is the relation that answered.
func (r *Result) View() string { return r.Name }

// Grain is what one row is, from the relation's comment.
func (r *Result) Grain() string { return firstWords(r.Comment) }

// need is an error where the result lacks a column that a section asks for.
func (r *Result) need(columns ...string) error {
	for _, column := range columns {
		if r.Place(column) < 0 {
			return fmt.Errorf("%s: column %q: %w", r.Name, column, errNoColumn)
		}
	}
	return nil
}

// inPlace writes the arguments into a query, so that a reader can copy and ask it. It is never sent: ask uses parameters. Backward,
// because $1 is the start of $10.
func inPlace(query string, args []any) string {
	for i, arg := range slices.Backward(args) {
		query = strings.ReplaceAll(query, fmt.Sprintf("$%d", i+1), literal(arg))
	}
	return query
}

// literal is an argument as SQL.
func literal(arg any) string {
	many, isList := arg.([]any)
	if !isList {
		return "'" + strings.ReplaceAll(fmt.Sprint(arg), "'", "''") + "'"
	}
	texts := make([]string, len(many))
	for i, one := range many {
		texts[i] = literal(one)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// firstWords is a comment up to its first full stop or colon. By convention that says what one row is.
func firstWords(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, end := range []string{". ", ": "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}

// Len is the number of rows.
func (r *Result) Len() int { return len(r.Rows) }

// First is the value of a column in the first row; nil if there are no rows. A column that is not there is an error, so that a renamed
// column does not turn into an empty section.
func (r *Result) First(column string) (any, error) {
	if err := r.need(column); err != nil {
		return nil, err
	}
	return r.At(0, column), nil
}

// Cells are the rows by column name, for a template that writes its own table.
func (r *Result) Cells() []map[string]any { return r.Records() }

// Where keeps the rows in which a column has a value.
func (r *Result) Where(column string, value any) (*Result, error) {
	if err := r.need(column); err != nil {
		return nil, err
	}
	kept := *r
	kept.Rows = nil
	for i, row := range r.Rows {
		if fmt.Sprint(r.At(i, column)) == fmt.Sprint(value) {
			kept.Rows = append(kept.Rows, row)
		}
	}
	return &kept, nil
}

// Above keeps the rows in which a column is more than 0; none where no row is.
func (r *Result) Above(column string) (*Result, error) {
	sum, err := r.Sum(column)
	if n, ok := number(sum); err == nil && ok && n > 0 {
		return r, nil
	}
	none := *r
	none.Rows = nil
	return &none, err
}

// Once keeps the first row of each value of a column.
func (r *Result) Once(column string) (*Result, error) {
	if err := r.need(column); err != nil {
		return nil, err
	}
	kept, seen := *r, map[any]bool{}
	kept.Rows = nil
	for i, row := range r.Rows {
		if v := r.At(i, column); !seen[v] {
			seen[v] = true
			kept.Rows = append(kept.Rows, row)
		}
	}
	return &kept, nil
}

// Filled leaves out the columns of which no row knows anything.
func (r *Result) Filled() *Result {
	known := *r
	known.Columns, known.Rows = nil, make([][]any, len(r.Rows))
	for c, column := range r.Columns {
		if !slices.ContainsFunc(r.Rows, func(row []any) bool { return row[c] != nil }) {
			continue
		}
		known.Columns = append(known.Columns, column)
		for i, row := range r.Rows {
			known.Rows[i] = append(known.Rows[i], row[c])
		}
	}
	return &known
}

// Known is the number of rows that have a number in a column.
func (r *Result) Known(column string) (int, error) {
	if err := r.need(column); err != nil {
		return 0, err
	}
	known := 0
	for i := range r.Rows {
		if _, isNumber := number(r.At(i, column)); isNumber {
			known++
		}
	}
	return known, nil
}

// Max is the largest number of a column, nil when it holds none.
func (r *Result) Max(column string) (any, error) {
	return r.fold(column, math.Max)
}

// Min is the smallest number of a column, nil when it holds none.
func (r *Result) Min(column string) (any, error) {
	return r.fold(column, math.Min)
}

// Sum adds up a column, nil when it holds no number.
func (r *Result) Sum(column string) (any, error) {
	return r.fold(column, func(a, b float64) float64 { return a + b })
}

// fold combines the numbers of a column; nil when it holds none.
func (r *Result) fold(column string, join func(a, b float64) float64) (any, error) {
	if err := r.need(column); err != nil {
		return nil, err
	}
	var total any
	for i := range r.Rows {
		v, isNumber := number(r.At(i, column))
		switch {
		case !isNumber:
		case total == nil:
			total = v
		default:
			total = join(total.(float64), v)
		}
	}
	return total, nil
}

// Points are two columns as points of a chart, y times factor. A missing value is a gap in the line.
func (r *Result) Points(x, y string, factor float64) ([]plot.Point, error) {
	return r.points(x, y, func(v float64) float64 { return v }, factor)
}

// Bins are Points of bins that start at x. One more point marks the end of the last bin, so that a step line shows all of it.
func (r *Result) Bins(x, y string, width any) ([]plot.Point, error) {
	points, err := r.Points(x, y, 1)
	if w, ok := number(width); ok && len(points) > 0 {
		last := points[len(points)-1]
		points = append(points, plot.Point{X: last.X + w, Y: last.Y})
	}
	return points, err
}

// Scaled are Points with x times factor too, and a weight each: how many samples a point stands for.
func (r *Result) Scaled(x, y, weight string, factor float64) ([]plot.Point, error) {
	points, err := r.points(x, y, func(v float64) float64 { return v * factor }, factor)
	for i := range points {
		points[i].Weight, _ = number(r.At(i, weight))
	}
	return points, err
}

// Weighed are Points with a weight each.
func (r *Result) Weighed(x, y, weight string, factor float64) ([]plot.Point, error) {
	points, err := r.Points(x, y, factor)
	for i := range points {
		points[i].Weight, _ = number(r.At(i, weight))
	}
	return points, err
}

// Nines are Points over quantiles, on a scale where 90 %, 99 % and 99.9 % are equally far apart.
func (r *Result) Nines(quantile, y string, factor float64) ([]plot.Point, error) {
	return r.points(quantile, y, plot.Nine, factor)
}

func (r *Result) points(x, y string, place func(float64) float64, factor float64) ([]plot.Point, error) {
	if err := r.need(x, y); err != nil {
		return nil, err
	}
	points := make([]plot.Point, len(r.Rows))
	for i := range r.Rows {
		across, hasX := number(r.At(i, x))
		up, hasY := number(r.At(i, y))
		points[i] = plot.Point{X: place(across), Y: up * factor}
		if !hasX || !hasY {
			points[i].Y = math.NaN()
		}
	}
	return points, nil
}
