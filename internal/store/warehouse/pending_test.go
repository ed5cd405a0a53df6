//go:build duckdb_arrow

package warehouse_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/store/warehouse"
)

// A statement that fails while its tasks run says so in DuckDB's words and by its kind, whether the first row or the millionth is bad.
func TestAStatementThatFailsWhileItRunsSaysWhy(t *testing.T) {
	db := open(t, warehouse.Memory, warehouse.ReadWrite).DB()
	for _, query := range []string{
		"select max(case when i = 999999 then error('row ' || i) else i::varchar end) from range(1000000) as rows (i)",
		"create table failed as select case when i = 999999 then error('row ' || i) end as e from range(1000000) as rows (i)",
	} {
		_, err := db.Exec(query)
		var failed *duckdb.Error
		if !errors.As(err, &failed) || failed.Type != duckdb.ErrorTypeInvalidInput || failed.Msg != "Invalid Input Error: row 999999" {
			t.Errorf("%s: got %v", query, err)
		}
	}
}

// A statement that takes long ends when its context does.
func TestAStatementEndsWithItsContext(t *testing.T) {
	db := open(t, warehouse.Memory, warehouse.ReadWrite).DB()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := db.ExecContext(ctx, "select sum(a.i * b.i) from range(1000000) as a (i), range(1000000) as b (i)")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
