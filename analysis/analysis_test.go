//go:build duckdb_arrow

package analysis_test

import "tidemark/internal/store/warehouse/warehousetest"

var (
	open      = warehousetest.Open
	wantError = warehousetest.WantError
)

const traces = warehousetest.Traces
