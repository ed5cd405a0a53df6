//go:build duckdb_arrow && !linux

package warehouse

import (
	"context"
	"errors"
)

// openEmpty works on Linux only: elsewhere a file cannot be opened from memory.
func openEmpty(context.Context, []byte) (*Warehouse, error) { return nil, errors.ErrUnsupported }
