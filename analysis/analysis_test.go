//go:build duckdb_arrow

package analysis_test

import "tidemark/internal/store/warehouse/warehousetest"

var open = warehousetest.Open

const traces = warehousetest.Traces
