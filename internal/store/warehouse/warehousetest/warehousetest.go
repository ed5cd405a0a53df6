//go:build duckdb_arrow

// Package warehousetest gives each test a warehouse of its own: a copy of an empty
// one that is made once per process.
package warehousetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// empty is the content of an empty warehouse's file, made once per process.
var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "tidemark-warehousetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "empty.duckdb")
	w, err := warehouse.Open(context.Background(), path, warehouse.ReadWrite)
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Template writes an empty warehouse to path.
func Template(path string) error {
	content, err := empty()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// File is the path of an empty warehouse in a temporary folder of the test.
// Each test has its own, because a file has one writer.
func File(t testing.TB) string {
	t.Helper()
	content := must.Get(empty())(t)
	path := filepath.Join(t.TempDir(), "w.duckdb")
	must.Do(t, os.WriteFile(path, content, 0o600))
	return path
}

// Open is an empty warehouse in which the statements have been run. It is
// closed when the test ends. It works on one thread: the few rows of a test are one
// task for DuckDB, and passing it between threads costs a fifth more CPU time. The
// processes that tests start use all cores, as a user's do. What is in the log when it is closed stays there: the file is removed with the test.
func Open(t testing.TB, setup ...string) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Open(context.Background(), File(t), warehouse.ReadWrite))(t)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	Put(t, w, append([]string{"set threads = 1", "pragma disable_checkpoint_on_shutdown"}, setup...)...)
	return w
}

// Put runs the statements and refreshes the tables that are computed from what
// they wrote.
func Put(t testing.TB, w *warehouse.Warehouse, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := w.DB().Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	must.Do(t, ForgetKnown(w.DB(), statements...))
	must.Do(t, warehouse.Refresh(context.Background(), w.DB()))
}

// ForgetKnown has the next refresh work out anew what is known of GPUs and kernels where the statements change a seed. Elsewhere only a new
// version of the program changes one.
func ForgetKnown(db warehouse.Querier, statements ...string) error {
	if !strings.Contains(strings.Join(statements, "\n"), "seeds.") {
		return nil
	}
	_, err := db.ExecContext(context.Background(), "update warehouse.known set fingerprint = ''")
	return err
}
