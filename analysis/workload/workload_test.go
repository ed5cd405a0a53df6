//go:build duckdb_arrow

package workload_test

import (
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// open gives a warehouse in memory after some SQL.
func open(t *testing.T, setup ...string) *warehouse.Warehouse {
	t.Helper()
	return warehousetest.Open(t, setup...)
}

// wantError wants an error with the text, and a hint with the other.
func wantError(t *testing.T, err error, text, todo string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want one with %q", err, text)
		return
	}
	if !strings.Contains(hint.Of(err), todo) {
		t.Errorf("%v: want a hint with %q, got %q", err, todo, hint.Of(err))
	}
}

const traces = warehousetest.Traces
