//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPacked opens a packed warehouse, to read, from a file in memory: nothing is
// written to a disk.
func openPacked(ctx context.Context, content []byte) (*Warehouse, error) {
	descriptor, err := unix.MemfdCreate("tidemark-catalogue", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(descriptor), "catalogue")
	defer file.Close() // DuckDB has opened it itself by then
	if _, err := file.Write(content); err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/proc/self/fd/%d", descriptor)
	db, err := connect(path, ReadOnly, oneThread, plannedSoon)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Warehouse{path: Memory, db: db}, nil
}
