//go:build duckdb_arrow

package answers_test

import (
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/proof/must"
)

// What the driver cannot hand over, and DuckDB's window that fails by chance (here as an error of that text), say what to write instead.
func TestFaultsSayWhatToDo(t *testing.T) {
	w := open(t)
	must.Fail(t, read(t, w, "select list_zip([1], [2]) as pairs"), "fields have no names", "COLUMN::varchar")
	must.Do(t, read(t, w, "select list_zip([1], [2])::varchar as pairs"))
	must.Fail(t, read(t, w, "select error('"+answers.WindowFault+"')"), "window of all rows", "over (partition by true)")
}
