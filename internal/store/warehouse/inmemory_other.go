//go:build duckdb_arrow && !linux

package warehouse

import (
	"context"
	"errors"
)

// openPacked works on Linux only: elsewhere a file cannot be opened from memory.
func openPacked(context.Context, []byte) (*Warehouse, error) { return nil, errors.ErrUnsupported }
