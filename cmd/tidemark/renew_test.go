package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// A warehouse whose views another version made is renewed by whoever reads it.
func TestReadersRenewStaleViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.duckdb")
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	must.Get(w.DB().Exec("update warehouse.stamp set stamp = 'another version'"))(t)
	must.Do(t, w.Close())
	var stderr strings.Builder
	for _, wantTalk := range []bool{true, false} { // the second reads the snapshot
		stderr.Reset()
		if code := run([]string{"tidemark", "sources", "--warehouse", path}, nil, io.Discard, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
		if got := strings.Contains(stderr.String(), "now those of this version"); got != wantTalk {
			t.Errorf("said that views were renewed: %v, want %v; stderr: %s", got, wantTalk, stderr.String())
		}
	}
}
