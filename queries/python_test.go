//go:build duckdb_arrow && python

package queries_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/queries"
)

// A warehouse that this program has written is read with pip's DuckDB, which is newer than the driver's: every view and
// every example of a header runs there too, on an empty warehouse and on a small one. `make test-python` sets it up.
func TestEveryViewRunsInPython(t *testing.T) {
	python := os.Getenv("DUCKDB_PYTHON")
	if python == "" {
		t.Fatal("DUCKDB_PYTHON names no python: run make test-python")
	}
	questions := map[string]string{}
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			questions[file.Path] = "from " + file.Relation()
		}
	}
	for _, example := range headerExamples() {
		questions["example of "+example.Path] = example.Text
	}
	asked := must.Get(json.Marshal(questions))(t)
	for name, setup := range map[string]string{"empty": "select 1", "small": small(t)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name+".duckdb")
			write(t, path, setup)
			command := exec.Command(python, "testdata/ask.py", path)
			command.Stdin = bytes.NewReader(asked)
			out, err := command.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func write(t *testing.T, path, setup string) {
	t.Helper()
	must.Do(t, warehousetest.Template(path))
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	warehousetest.Put(t, w, setup)
	must.Do(t, w.Close())
}
