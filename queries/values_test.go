//go:build duckdb_arrow

package queries_test

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/queries"
)

// A value is what it was as a parameter, of the same type, whatever stands in it; what only looks like a place stays.
func TestValuesInAQuestionAreThoseOfItsParameters(t *testing.T) {
	db, half := open(t).DB(), 0.5
	for _, c := range []struct {
		question string
		values   []any
		is       bool
	}{
		{"select typeof($1), $1 = 'it''s', $1", []any{"it's; -- \" $2 ?\\n é"}, true},
		{"select typeof(?), ?, typeof(?), ?", []any{"", 1 << 40, int64(math.MinInt64), true}, true},
		{"select [$10, $9, $8, $7, $6, $5, $4, $3, $2, $1] as backward", []any{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, true},
		{"select '$1 ?' as \"$1?\", /* ? $1 */ ? -- ?\n", []any{0.1}, true},
		{"select typeof($1), $1, $2", []any{math.Nextafter(1, 2), -0.0}, true},
		{"select typeof($1), unnest($1)", []any{[]string{"it's", "$1", ""}}, true},
		{"select unnest($1::varchar[])", []any{[]string{}}, true},
		{"select typeof($1), unnest($1)", []any{[]int64{1 << 40, math.MinInt64}}, true},
		{"select typeof($1), $1, $2, typeof($3)", []any{&half, (*float64)(nil), nil}, true},
		{"select $1::varchar", []any{math.Inf(1)}, false},
		{"select $1 = 'a'", []any{"a\x00b"}, false},
		{"select $1 = 'a'", []any{strings.Repeat("a", 1<<16)}, false},
		{"select $1::timestamptz", []any{time.Unix(0, 0).UTC()}, false},
	} {
		text, is := queries.WithValues(c.question, c.values)
		if is != c.is {
			t.Errorf("%s: written in place is %v, want %v", c.question, is, c.is)
			continue
		}
		if !is {
			continue
		}
		wanted := must.Get(db.Query(c.question, c.values...))(t)
		want := cells(t, wanted)
		if got := cells(t, must.Get(db.Query(text))(t)); got != want {
			t.Errorf("%s: got %s of %s, want %s", c.question, got, text, want)
		}
	}
	for _, without := range []string{"select $2", "select ?, ?", "select 1", "select $$ ? $$", "select $x"} {
		if text, is := queries.WithValues(without, []any{"a"}); is || text != without {
			t.Errorf("%s: got %s", without, text)
		}
	}
}

// cells are the rows of an answer as text.
func cells(t *testing.T, rows *sql.Rows) (text string) {
	t.Helper()
	defer rows.Close()
	names := must.Get(rows.Columns())(t)
	for rows.Next() {
		row := make([]any, len(names))
		targets := make([]any, len(names))
		for i := range row {
			targets[i] = &row[i]
		}
		must.Do(t, rows.Scan(targets...))
		text += fmt.Sprintf("%#v\n", row)
	}
	must.Do(t, rows.Err())
	return text
}
