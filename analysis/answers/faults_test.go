//go:build duckdb_arrow

package answers_test

import (
	"testing"

	"tidemark/analysis/answers"
)

// What the driver cannot hand over, and DuckDB's window that fails by chance (here as an error of that text), say what to write instead.
func TestFaultsSayWhatToDo(t *testing.T) {
	w := open(t)
	_, err := answers.Query(t.Context(), w.DB(), "select list_zip([1], [2]) as pairs")
	wantError(t, err, "fields have no names", "COLUMN::varchar")
	_, err = answers.Query(t.Context(), w.DB(), "select list_zip([1], [2])::varchar as pairs")
	if err != nil {
		t.Error(err)
	}
	err = answers.Stream(t.Context(), w.DB(), "select error('"+answers.WindowFault+"')", func([]answers.Column) error { return nil }, func([]any) error { return nil })
	wantError(t, err, "window of all rows", "over (partition by true)")
}
