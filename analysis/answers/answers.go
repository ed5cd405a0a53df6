// Package answers is the one layer that asks the warehouse. A question is SQL and its answer is a Table: columns,
// and rows reduced to the few Go types that every caller can print, compare and encode.
//
//	Ask     for questions written in this program
//	Stream  for a user's own: one statement that only reads (statement.go), and an answer of any size, row by row
//	Schema  what there is to ask, from the comments that the warehouse keeps (schema.go)
//
// Unknown makes the error for a name that is not there, with the names that are. MixedDefinitions warns when a query may average
// figures that different tools define differently (definitions.go).
//
// It knows nothing of runs, traces or models: what a question means is up to who asks it.
package answers

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/store/warehouse"
)

// Table is the answer to a question. It is held in memory as a whole, so a question that may have many rows limits them itself or
// uses Stream.
type Table struct {
	Name    string
	Comment string
	Columns []string
	Rows    [][]any // nil, bool, int64, float64, string, time.Time, []any or map[string]any
}

// TableOf is a table without rows. Callers append rows with one cell per column.
func TableOf(columns ...string) Table { return Table{Columns: slices.Clone(columns)} }

// Place is the position of a column, -1 if there is none of that name.
func (t Table) Place(column string) int {
	return slices.Index(t.Columns, column)
}

// At is one cell; nil if there is no such row or column.
func (t Table) At(row int, column string) any {
	if i := t.Place(column); i >= 0 && row < len(t.Rows) {
		return t.Rows[row][i]
	}
	return nil
}

// FirstColumn are the texts of the first column.
func (t Table) FirstColumn() (texts []string) {
	for _, row := range t.Rows {
		texts = append(texts, row[0].(string))
	}
	return texts
}

// Records are the rows by column name.
func (t Table) Records() []map[string]any {
	records := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		records[i] = make(map[string]any, len(row))
		for c, column := range t.Columns {
			records[i][column] = row[c]
		}
	}
	return records
}

// Ask asks SQL that is written in this program. It is not checked for being read-only.
func Ask(ctx context.Context, db warehouse.Asker, query string, args ...any) (Table, error) {
	rows, err := warehouse.Ask(ctx, db, query, args...)
	if err != nil {
		return Table{}, err
	}
	defer rows.Close()
	var table Table
	if table.Columns, err = rows.Columns(); err != nil {
		return Table{}, err
	}
	for rows.Next() {
		row, err := scanned(rows, len(table.Columns))
		if err != nil {
			return Table{}, err
		}
		table.Rows = append(table.Rows, row)
	}
	return table, rows.Err()
}

// scanned is one row as the Go types of a Table.
func scanned(rows *sql.Rows, columns int) ([]any, error) {
	row := make([]any, columns)
	targets := make([]any, columns)
	for i := range row {
		targets[i] = &row[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, err
	}
	for i := range row {
		row[i] = simple(row[i])
	}
	return row, nil
}

// simple reduces the driver's many types to the few of a Table. Integers beyond 64 bits become their digits; anything unknown becomes
// its text, so that a new DuckDB type is shown and not an error.
func simple(value any) any {
	switch v := value.(type) {
	case nil, bool, int64, float64, string, time.Time:
		return v
	case int8, int16, int32, int:
		return reflect.ValueOf(v).Int()
	case uint8, uint16, uint32:
		return int64(reflect.ValueOf(v).Uint())
	case uint64:
		return whole(new(big.Int).SetUint64(v))
	case *big.Int: // sums of integers are 128 bits wide
		return whole(v)
	case float32:
		return float64(v)
	case duckdb.Decimal:
		return v.Float64()
	case []byte:
		return fmt.Sprintf("%x", v)
	case []any:
		for i := range v {
			v[i] = simple(v[i])
		}
		return v
	case map[string]any:
		for key := range v {
			v[key] = simple(v[key])
		}
		return v
	case duckdb.OrderedMap:
		return mapped(v)
	default:
		return fmt.Sprint(v)
	}
}

// whole is an int64 where the number fits, else its digits.
func whole(number *big.Int) any {
	if number.IsInt64() {
		return number.Int64()
	}
	return number.String()
}

// mapped is a DuckDB MAP with its keys as text.
func mapped(m duckdb.OrderedMap) map[string]any {
	values := m.Values()
	named := make(map[string]any, len(values))
	for i, key := range m.Keys() {
		named[fmt.Sprint(simple(key))] = simple(values[i])
	}
	return named
}
