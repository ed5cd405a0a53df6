//go:build duckdb_arrow

package warehouse_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// A view of a stranger's warehouse printed any file that the user may read, in every verb but sql and serve.
func TestAViewReadsNoFileOfAReader(t *testing.T) {
	path := warehousetest.File(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("what is nobody's business"), 0o600))
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	must.Get(w.DB().Exec("create or replace view staging.sources as select content as source_name from read_text('" + secret + "')"))(t)
	must.Do(t, w.Close())
	for _, mode := range []warehouse.Mode{warehouse.ReadOnly, warehouse.AnyVersion} {
		w := must.Get(warehouse.Open(t.Context(), path, mode))(t)
		var text string
		must.Fail(t, w.DB().QueryRow("select source_name from staging.sources").Scan(&text), "disabled")
		w.Close()
	}
	w = must.Get(warehouse.Open(warehouse.WithFiles(t.Context()), path, warehouse.ReadOnly))(t)
	defer w.Close()
	var text string
	if err := w.DB().QueryRow("select source_name from staging.sources").Scan(&text); err != nil || text != "what is nobody's business" {
		t.Errorf("where files are allowed: %q, %v", text, err)
	}
}
