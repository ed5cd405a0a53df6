//go:build duckdb_arrow

package privacy

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	random "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

func TestMain(m *testing.M) {
	if _, err := os.Stat(filepath.Join(sharedRoot(), "traces")); err != nil {
		fmt.Fprintf(os.Stderr, "LEFT OUT: the real traces: no %s; $TIDEMARK_SHARED names another folder\n", filepath.Join(sharedRoot(), "traces"))
	}
	m.Run()
}

func sharedRoot() string {
	return cmp.Or(os.Getenv("TIDEMARK_SHARED"), filepath.Join("..", "..", "..", "shared"))
}

// emptyFile is the path of an empty warehouse.
func emptyFile(t testing.TB) string {
	t.Helper()
	return warehousetest.File(t)
}

func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, content, 0o600))
	return path
}

func openFile(t testing.TB, path string) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// holding is a warehouse with one file taken in as "trace".
func holding(t testing.TB, path string) *warehouse.Warehouse {
	t.Helper()
	w := openFile(t, emptyFile(t))
	take(t, w, path, "trace")
	return w
}

func take(t testing.TB, w *warehouse.Warehouse, path, name string) {
	t.Helper()
	must.Get(ingest.Load(t.Context(), w, []string{path}, ingest.Options{Name: name}))(t)
}

// azureFile is a dated trace of n requests at a mean rate of two a second.
func azureFile(t testing.TB, n int) string {
	source := random.New(random.NewPCG(7, 7))
	var text strings.Builder
	text.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for at, i := 0.0, 0; i < n; i++ {
		at += source.ExpFloat64() / 2
		fmt.Fprintf(&text, "2023-11-16 %02d:%02d:%010.7f,%d,%d\n", 9+int(at)/3600, int(at)/60%60, at-float64(int(at)/60*60), 1+source.IntN(6000), 1+source.IntN(400))
	}
	return put(t, "azure.csv", []byte(text.String()))
}

// mooncakeFile is a trace of n requests whose block ids are given.
func mooncakeFile(t testing.TB, n int, id func(int) uint64) string {
	source := random.New(random.NewPCG(8, 8))
	var text strings.Builder
	for i := range n {
		shared := source.IntN(4)
		var ids []string
		for block := range 1 + shared {
			ids = append(ids, fmt.Sprint(id(block)))
		}
		ids = append(ids, fmt.Sprint(id(10+i)))
		fmt.Fprintf(&text, `{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[%s]}`+"\n",
			i*400, len(ids)*512-source.IntN(500), 1+source.IntN(300), strings.Join(ids, ","))
	}
	return put(t, "mooncake.jsonl", []byte(text.String()))
}

// keyOf is a key that is the same at every run of a test.
func keyOf(number byte) Key { return bytes.Repeat([]byte{number}, keyBytes) }

func optionsOf(number byte) Options {
	o := Default()
	o.Key, o.Version = keyOf(number), "test"
	return o
}

// exported writes an export that must succeed and keep every rule.
func exported(t testing.TB, w *warehouse.Warehouse, name string, o Options) (*Result, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	result, err := Export(t.Context(), w, "trace", path, o)
	if err != nil {
		t.Fatalf("Export(%+v): %v", o, err)
	}
	if !result.Passed {
		t.Errorf("Export(%s): its own check fails: %+v", name, result.Manifest.Rules)
	}
	return result, path
}

func rowsOf(t testing.TB, path string) *Trace {
	t.Helper()
	s := must.Get(readFile(path))(t)
	return s.trace
}

func content(t testing.TB, path string) (text []byte) {
	t.Helper()
	must.Do(t, opened(path, func(r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		return err
	}))
	return text
}
