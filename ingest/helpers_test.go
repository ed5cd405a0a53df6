//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"tidemark/ingest"
	"tidemark/internal/warehouse"
	"tidemark/internal/warehouse/warehousetest"
)

func TestMain(m *testing.M) {
	ingest.Child()
	if path := os.Getenv(childVariable); path != "" {
		child(path)
		return
	}
	tellLeftOut()
	goleak.VerifyTestMain(m)
}

// open gives a warehouse of the test's own.
func open(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	return openFile(t, emptyFile(t))
}

// emptyFile is the path of an empty warehouse.
func emptyFile(t testing.TB) string {
	t.Helper()
	return warehousetest.File(t)
}

func openFile(t testing.TB, path string) *warehouse.Warehouse {
	t.Helper()
	w, err := warehouse.Open(t.Context(), path, warehouse.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// empty removes what a case has put in, for a table of cases of one warehouse: another one costs a tenth of a second.
func empty(t testing.TB, w *warehouse.Warehouse) {
	t.Helper()
	for _, table := range []string{"samples", "requests", "runs", "arrivals", "rejects", "sources"} {
		if _, err := w.DB().Exec("delete from raw." + table); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load takes in one file that must come in.
func load(t testing.TB, w *warehouse.Warehouse, path string, opts ingest.Options) ingest.Result {
	t.Helper()
	results, err := ingest.Load(context.Background(), w, []string{path}, opts)
	if err != nil {
		t.Fatalf("Load(%s): %v", path, err)
	}
	if len(results) != 1 {
		t.Fatalf("Load(%s): got %d results, want 1", path, len(results))
	}
	return results[0]
}

// refused takes in one file that must not come in, and sees that nothing is left
// of it.
func refused(t testing.TB, w *warehouse.Warehouse, path string, opts ingest.Options, words ...string) error {
	t.Helper()
	before := fingerprint(t, w)
	results, err := ingest.Load(context.Background(), w, []string{path}, opts)
	if err == nil {
		t.Fatalf("Load(%s): no error, want one with %q; got %+v", path, words, results)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Load(%s): got %q, want %q in it", path, err, word)
		}
	}
	if after := fingerprint(t, w); after != before {
		t.Errorf("Load(%s) failed but changed the warehouse: %s, then %s", path, before, after)
	}
	return err
}

// fingerprint counts the rows of every raw table.
func fingerprint(t testing.TB, w *warehouse.Warehouse) string {
	t.Helper()
	var text string
	for _, table := range []string{"sources", "rejects", "arrivals", "runs", "requests", "samples", "capacities"} {
		text += fmt.Sprintf("%s %d ", table, number(t, w, "select count(*) from raw."+table))
	}
	return text
}

func number(t testing.TB, w *warehouse.Warehouse, query string, args ...any) (n int64) {
	t.Helper()
	if err := w.DB().QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// table asks for all cells as text; a null is empty.
func table(t testing.TB, w *warehouse.Warehouse, query string) [][]string {
	t.Helper()
	rows, err := w.DB().Query("select coalesce(columns(*)::varchar, '') from (" + query + ")")
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	header, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var found [][]string
	for rows.Next() {
		line, targets := make([]string, len(header)), make([]any, len(header))
		for i := range line {
			targets[i] = &line[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		found = append(found, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func readCSV(t testing.TB, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func zstdOf(t testing.TB, content []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return encoder.EncodeAll(content, nil)
}

// runFolder unpacks a run that lies as text in fixtures/runs.
func runFolder(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "fixtures", "runs", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		data := file.Data
		if filepath.Ext(file.Name) == ".zst" {
			data = zstdOf(t, data)
		}
		if err := os.WriteFile(filepath.Join(folder, file.Name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
