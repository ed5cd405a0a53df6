//go:build duckdb_arrow

package workload_test

import (
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

var (
	open      = warehousetest.Open
	wantError = must.Fail
)

const traces = warehousetest.Traces
