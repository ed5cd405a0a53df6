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
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

func TestMain(m *testing.M) {
	ingest.Child()
	if path := os.Getenv(childVariable); path != "" {
		child(path)
		return
	}
	tellLeftOut()
	goleak.VerifyTestMain(closing{m})
}

// closing closes the warehouses that tests have given back, before anybody looks for what was left open.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	for _, w := range givenBack.all {
		if err := w.Close(); err != nil {
			fmt.Println(err)
			return 1
		}
		os.RemoveAll(filepath.Dir(w.Path()))
	}
	return code
}

// givenBack are open warehouses that are empty again: another one costs as much as most tests.
var givenBack warehouses

type warehouses struct {
	sync.Mutex
	all []*warehouse.Warehouse
}

func (p *warehouses) put(w *warehouse.Warehouse) {
	p.Lock()
	defer p.Unlock()
	p.all = append(p.all, w)
}

func (p *warehouses) take() (w *warehouse.Warehouse) {
	p.Lock()
	defer p.Unlock()
	if n := len(p.all); n > 0 {
		w, p.all = p.all[n-1], p.all[:n-1]
	}
	return w
}

// open gives an empty warehouse, which the test has for itself.
func open(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	w := givenBack.take()
	if w == nil {
		folder := must.Get(os.MkdirTemp("", "tidemark-ingest"))(t)
		path := filepath.Join(folder, "w.duckdb")
		must.Do(t, warehousetest.Template(path))
		w = must.Get(warehouse.Open(context.Background(), path, warehouse.ReadWrite))(t)
	}
	t.Cleanup(func() { giveBack(t, w) })
	return w
}

// giveBack empties the raw tables for the next test. A warehouse in which marts were computed is closed instead.
func giveBack(t testing.TB, w *warehouse.Warehouse) {
	t.Helper()
	var statements string
	err := w.DB().QueryRow(`select coalesce(string_agg('delete from raw.' || table_name, '; '), '')
		from duckdb_tables() where schema_name = 'raw' and estimated_size > 0`).Scan(&statements)
	if err == nil {
		_, err = w.DB().Exec(statements)
	}
	if err == nil && !t.Failed() && number(t, w, "select count(*) from warehouse.kept") == 0 {
		givenBack.put(w)
		return
	}
	must.Do(t, w.Close())
	os.RemoveAll(filepath.Dir(w.Path()))
}

// emptyFile is the path of an empty warehouse.
func emptyFile(t testing.TB) string {
	t.Helper()
	return warehousetest.File(t)
}

func openFile(t testing.TB, path string) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	t.Cleanup(func() {
		must.Do(t, w.Close())
	})
	return w
}

// empty removes what a case has put in, for a table of cases of one warehouse: another one costs a tenth of a second.
func empty(t testing.TB, w *warehouse.Warehouse) {
	t.Helper()
	for _, table := range []string{"samples", "requests", "runs", "arrivals", "rejects", "sources"} {
		must.Get(w.DB().Exec("delete from raw." + table))(t)
	}
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, content, 0o600))
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
		must.Say(t, err.Error(), word)
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
	header := must.Get(rows.Columns())(t)
	var found [][]string
	for rows.Next() {
		line, targets := make([]string, len(header)), make([]any, len(header))
		for i := range line {
			targets[i] = &line[i]
		}
		must.Do(t, rows.Scan(targets...))
		found = append(found, line)
	}
	must.Do(t, rows.Err())
	return found
}

// joined writes rows in a line: cells with spaces between them, rows with bars.
func joined(rows [][]string) string {
	var lines []string
	for _, row := range rows {
		lines = append(lines, strings.Join(row, " "))
	}
	return strings.Join(lines, "|")
}

// answers sees that a query has these rows, as joined writes them.
func answers(t testing.TB, w *warehouse.Warehouse, query, want string) {
	t.Helper()
	if got := joined(table(t, w, query)); got != want {
		t.Errorf("%s: got %s, want %s", query, got, want)
	}
}

func readCSV(t testing.TB, path string) [][]string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	lines := must.Get(csv.NewReader(bytes.NewReader(text)).ReadAll())(t)
	return lines
}

func zstdOf(t testing.TB, content []byte) []byte {
	t.Helper()
	encoder := must.Get(zstd.NewWriter(nil))(t)
	defer encoder.Close()
	return encoder.EncodeAll(content, nil)
}

// runFolder unpacks a run that lies as text in fixtures/runs.
func runFolder(t testing.TB, name string) string {
	t.Helper()
	archive := must.Get(txtar.ParseFile(filepath.Join("..", "fixtures", "runs", name+".txtar")))(t)
	folder := filepath.Join(t.TempDir(), name)
	must.Do(t, os.Mkdir(folder, 0o700))
	for _, file := range archive.Files {
		data := file.Data
		if filepath.Ext(file.Name) == ".zst" {
			data = zstdOf(t, data)
		}
		must.Do(t, os.WriteFile(filepath.Join(folder, file.Name), data, 0o600))
	}
	return folder
}
