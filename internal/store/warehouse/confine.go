//go:build duckdb_arrow

package warehouse

import (
	"context"
	"fmt"
)

// MemoryLimit is how much memory DuckDB may use, in its own words: "18.8 GiB".
// The default is 80 % of the machine's or the container's.
func (w *Warehouse) MemoryLimit(ctx context.Context) (limit string, err error) {
	err = w.db.QueryRowContext(ctx, "select current_setting('memory_limit')").Scan(&limit)
	return limit, err
}

type filesKey struct{}

// WithFiles lets a reader's queries reach files other than the warehouse, as the user asks for.
func WithFiles(ctx context.Context) context.Context { return context.WithValue(ctx, filesKey{}, true) }

// keepIn keeps a reader from files other than the warehouse: a view in it may be of a stranger, and read any file that the user may read.
func (w *Warehouse) keepIn(ctx context.Context) error {
	if ctx.Value(filesKey{}) != nil {
		return nil
	}
	_, err := w.db.ExecContext(ctx, "set enable_external_access = false")
	return err
}

// Confine prepares for a query that somebody else wrote: a limit on memory, no
// access to files other than the warehouse unless that is allowed, and no way
// to change these settings back.
func (w *Warehouse) Confine(ctx context.Context, memoryBytes int64, allowsFiles bool) error {
	settings := fmt.Sprintf("set memory_limit = '%d KiB'; ", max(memoryBytes>>10, 1))
	if !allowsFiles {
		settings += "set enable_external_access = false; "
	}
	_, err := w.db.ExecContext(ctx, settings+"set lock_configuration = true")
	return err
}
