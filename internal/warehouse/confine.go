//go:build duckdb_arrow

package warehouse

import (
	"context"
	"fmt"
)

// MemoryLimit is how much memory DuckDB may take, as it says it: "18.8 GiB". From the start that is 80 % of the
// machine's, or of the container's.
func (w *Warehouse) MemoryLimit(ctx context.Context) (limit string, err error) {
	err = w.db.QueryRowContext(ctx, "select current_setting('memory_limit')").Scan(&limit)
	return limit, err
}

// Confine makes ready for the query of a stranger: it can take this much memory, it reads no file but the warehouse
// unless files are allowed, and it cannot change either.
func (w *Warehouse) Confine(ctx context.Context, memoryBytes int64, allowsFiles bool) error {
	settings := fmt.Sprintf("set memory_limit = '%d KiB'; ", max(memoryBytes>>10, 1))
	if !allowsFiles {
		settings += "set enable_external_access = false; "
	}
	_, err := w.db.ExecContext(ctx, settings+"set lock_configuration = true")
	return err
}
