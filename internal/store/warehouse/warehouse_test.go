//go:build duckdb_arrow

package warehouse_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/queries"
)

// holdVariable makes the test binary open a warehouse and hold it until its
// stdin ends: the second process of the tests about locks.
const holdVariable = "TIDEMARK_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVariable); path != "" {
		hold(path)
		return
	}
	os.Exit(m.Run())
}

func hold(path string) {
	w, err := warehouse.Open(context.Background(), path, warehouse.ReadWrite)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := w.Close(); err != nil {
		os.Exit(1)
	}
}

func open(t *testing.T, path string, mode warehouse.Mode) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, mode))(t)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func exec1(t *testing.T, w *warehouse.Warehouse, statement string) {
	t.Helper()
	if _, err := w.DB().Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func number(t *testing.T, w *warehouse.Warehouse, query string) (n int64) {
	t.Helper()
	if err := w.DB().QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// refused opens the file and wants an error with these words and a hint.
func refused(t *testing.T, path string, mode warehouse.Mode, words ...string) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), path, mode)
	if err == nil {
		w.Close()
		t.Fatalf("Open(%s): no error, want one with %q", path, words)
	}
	for _, word := range append(words, "warehouse "+path+": ") {
		must.Say(t, err.Error(), word)
	}
	if hint.Of(err) == "" {
		t.Errorf("Open: %q has no hint", err)
	}
}

func TestOpenKeepsDataAndRebuildsViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.duckdb")
	w := open(t, path, warehouse.ReadWrite)
	exec1(t, w, "insert into raw.rejects values (1, 2, 'input_tokens', 'not an integer')")
	exec1(t, w, "create view marts.left_over as select 1 as x")
	exec1(t, w, "update warehouse.stamp set stamp = 'another version'")
	must.Do(t, w.Close())

	refused(t, path, warehouse.ReadOnly, "another version of tidemark")
	if _, err := warehouse.Open(t.Context(), path, warehouse.ReadOnly); !errors.Is(err, warehouse.ErrStale) {
		t.Errorf("Open: got %v, want ErrStale", err)
	}

	w = open(t, path, warehouse.ReadWrite)
	if got := number(t, w, "select count(*) from raw.rejects"); got != 1 {
		t.Errorf("rejects after the rebuild: got %d, want 1", got)
	}
	if got := number(t, w, "select count(*) from duckdb_views() where view_name = 'left_over'"); got != 0 {
		t.Error("a view of the other version is still there")
	}
	must.Do(t, w.Close())

	w = open(t, path, warehouse.ReadOnly)
	must.Refuse(w.DB().Exec("delete from raw.rejects"))(t)
	if got := number(t, w, "select count(*) from raw.rejects"); got != 1 {
		t.Errorf("rejects read-only: got %d, want 1", got)
	}
}

// While views are made, tables stand in for those that others read. Only those of
// kept views may be left, in the file or in the log that a killed process leaves
// next to it.
func TestEveryViewIsOneAndNothingStandsInForIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.duckdb")
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	// Without its stamp the file's views are made anew when it is opened: they are in the log, and not in the packed file.
	must.Get(w.DB().Exec("delete from warehouse.stamp"))(t)
	must.Do(t, w.Close())
	w = open(t, path, warehouse.ReadWrite)
	killed := filepath.Join(t.TempDir(), "killed.duckdb")
	for _, end := range []string{"", ".wal"} {
		content, err := os.ReadFile(path + end)
		if end != "" && errors.Is(err, os.ErrNotExist) {
			continue // a packed warehouse was copied: there is no log
		}
		must.Do(t, err)
		must.Do(t, os.WriteFile(killed+end, content, 0o600))
	}
	for _, w := range []*warehouse.Warehouse{w, open(t, killed, warehouse.ReadWrite)} {
		var views int
		for _, schema := range queries.Views {
			kept := 0
			for _, file := range queries.In(schema, ".sql") {
				if file.IsKept() {
					kept++
				} else {
					views++
				}
			}
			if got := number(t, w, "select count(*) from duckdb_tables() where schema_name = '"+schema+"'"); got != int64(kept) {
				t.Errorf("%d tables in %s, want %d", got, schema, kept)
			}
		}
		if got := number(t, w, "select count(*) from duckdb_views() where not internal and starts_with(sql, format('CREATE VIEW {}.{} ', schema_name, view_name))"); got != int64(views) {
			t.Errorf("%d views by their own name, want %d", got, views)
		}
	}
}

func TestRawTablesAndColumnsAreDocumented(t *testing.T) {
	w := open(t, warehouse.Memory, warehouse.ReadWrite)
	var comment sql.NullString
	err := w.DB().QueryRow("select comment from duckdb_columns() where schema_name = 'raw' and table_name = 'arrivals' and column_name = 'arrival_ns'").Scan(&comment)
	if err != nil || !strings.Contains(comment.String, "nanoseconds") {
		t.Errorf("comment of raw.arrivals.arrival_ns: got %q, %v", comment.String, err)
	}
}

func TestConnectionsInMemoryShareOneWarehouse(t *testing.T) {
	w := open(t, warehouse.Memory, warehouse.ReadWrite)
	first := must.Get(w.DB().Conn(t.Context()))(t)
	defer first.Close()
	must.Get(first.ExecContext(t.Context(), "insert into raw.rejects values (1, 1, null, 'x')"))(t)
	if got := number(t, w, "select count(*) from raw.rejects"); got != 1 { // on a second connection
		t.Errorf("got %d rows, want 1", got)
	}
}

// A catalogue is the packed empty warehouse, with all views, or made without any.
func TestCatalogueAnswersWithoutViews(t *testing.T) {
	w := must.Get(warehouse.Catalogue(t.Context()))(t)
	defer w.Close()
	if got := number(t, w, "select d.tensor_parallel_size from macros.deployment({'gpu': 'H200', 'catalog_model': 'llama-3.1-70b', 'tensor_parallel_size': 2, 'quantization': 'fp8'}) as d"); got != 2 {
		t.Errorf("a deployment on two GPUs has %d", got)
	}
	packed := must.Get(filepath.Glob("empty/" + queries.Stamp() + ".*"))(t)
	if got := number(t, w, "select count(*) from duckdb_views() where schema_name in ('staging', 'marts', 'checks')"); got != 0 && len(packed) == 0 {
		t.Errorf("%d views were made", got)
	}
}

func TestNothingIsFetchedByItself(t *testing.T) {
	w := open(t, warehouse.Memory, warehouse.ReadWrite)
	for _, setting := range []string{"autoinstall_known_extensions", "autoload_known_extensions"} {
		var on bool
		if err := w.DB().QueryRow("select current_setting(?)", setting).Scan(&on); err != nil || on {
			t.Errorf("%s: got %v, %v", setting, on, err)
		}
	}
}

func TestRefusesWhatIsNotOurs(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	foreign := filepath.Join(folder, "foreign.duckdb")
	db := must.Get(sql.Open("duckdb", foreign))(t)
	must.Get(db.Exec("create table theirs (x integer)"))(t)
	must.Do(t, db.Close())
	text := write("notes.txt", "these are notes, not a database")
	cases := []struct {
		why, path string
		mode      warehouse.Mode
		words     string
	}{
		{"text, for writing", text, warehouse.ReadWrite, "not a DuckDB file"},
		{"text, for reading", text, warehouse.ReadOnly, "not a DuckDB file"},
		{"somebody's DuckDB file, for writing", foreign, warehouse.ReadWrite, "without tidemark's tables"},
		{"somebody's DuckDB file, for reading", foreign, warehouse.ReadOnly, "without tidemark's tables"},
		{"no file, for reading", filepath.Join(folder, "none.duckdb"), warehouse.ReadOnly, "no such file"},
		{"no folder", filepath.Join(folder, "none", "x.duckdb"), warehouse.ReadWrite, "no folder"},
		{"a folder", folder, warehouse.ReadWrite, "is a folder"},
		{"the name of a schema", filepath.Join(t.TempDir(), "marts.duckdb"), warehouse.ReadWrite, "mistakes the name for its schema marts"},
		{"a question mark, which DuckDB takes for settings", filepath.Join(folder, "a?b"), warehouse.ReadWrite, "?"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) { refused(t, c.path, c.mode, c.words) })
	}
	if kept, _ := os.ReadFile(text); string(kept) != "these are notes, not a database" {
		t.Error("a foreign file was changed")
	}
}

// DuckDB opens a data file as a view of a database in memory: what was taken in
// was gone, and the verb reported success.
func TestDataFilesAreNotTakenForWarehouses(t *testing.T) {
	for name, content := range map[string]string{
		"a.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,1,1\n", "a.tsv": "a\tb\n1\t2\n",
		"a.json": "[{\"a\":1}]", "a.jsonl": "{\"a\":1}\n{\"a\":2}\n", "a.csv.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00",
		"a.parquet": "PAR1\x15\x04\x15\x10\x15\x14\x4c\x15", "short.csv": "a\n", "empty.csv": "",
	} {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
		refused(t, path, warehouse.ReadWrite, "not a DuckDB file")
		refused(t, path, warehouse.ReadOnly, "not a DuckDB file")
		if kept, _ := os.ReadFile(path); string(kept) != content {
			t.Errorf("%s was changed", name)
		}
	}
}

// Whatever a new warehouse is called, what is written to it is there afterwards.
func TestWarehouseNamedLikeADataFileKeepsWhatIsWritten(t *testing.T) {
	for _, name := range []string{"new.csv", "new.json", "new.csv.gz", "new.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		w := open(t, path, warehouse.ReadWrite)
		exec1(t, w, "insert into raw.rejects values (1, 1, null, 'x')")
		must.Do(t, w.Close())
		w = open(t, path, warehouse.ReadOnly)
		if got := number(t, w, "select count(*) from raw.rejects"); got != 1 {
			t.Errorf("%s: got %d rows, want 1", name, got)
		}
	}
}

// A file that was made in vain is removed; one that was there, or that holds a
// source, is not.
func TestWarehouseMadeInVainIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vain.duckdb")
	const source = `insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values (1, 'a', 'arrivals', 'azure', 'a', 'a', 1, 1, 1, 0, null, false, 's', null, null, 1, now())`
	for _, c := range []struct {
		why, fill string
		isKept    bool
	}{
		{"in vain", "", false},
		{"in vain, but a source is in it", source, true},
		{"in vain, but it was there before", "delete from raw.sources", true},
	} {
		w := open(t, path, warehouse.ReadWrite)
		if c.fill != "" {
			exec1(t, w, c.fill)
		}
		w.DiscardIfNew()
		must.Do(t, w.Close())
		left, err := filepath.Glob(path + "*")
		if err != nil || (len(left) > 0) != c.isKept {
			t.Errorf("%s: left are %v, %v", c.why, left, err)
		}
	}
}

func TestNewerWarehouseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "newer.duckdb")
	w := open(t, path, warehouse.ReadWrite)
	exec1(t, w, "insert into warehouse.migrations values (9999, 'from the future', now())")
	must.Do(t, w.Close())
	refused(t, path, warehouse.ReadWrite, "newer tidemark")
}

func TestSecondWriterIsToldWhoHoldsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held.duckdb")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holdVariable+"="+path)
	stdin := must.Get(child.StdinPipe())(t)
	stdout := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "open\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	pid := fmt.Sprintf("held by process %d", child.Process.Pid)
	refused(t, path, warehouse.ReadWrite, pid)
	refused(t, path, warehouse.ReadOnly, pid)
	stdin.Close()
	must.Do(t, child.Wait())
	open(t, path, warehouse.ReadWrite) // free again
}

func TestWriteIsAllOrNothing(t *testing.T) {
	w := open(t, filepath.Join(t.TempDir(), "whole.duckdb"), warehouse.ReadWrite)
	broken := errors.New("the caller thinks better of it")
	err := w.Write(t.Context(), func(tx *warehouse.Tx) error {
		if err := tx.Exec(t.Context(), "insert into raw.rejects values (1, 1, null, 'x')"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("Write: got %v, want the caller's error", err)
	}
	if got := number(t, w, "select count(*) from raw.rejects"); got != 0 {
		t.Errorf("got %d rows, want none", got)
	}
}

// The advice was to name another file, which leaves the user without the runs.
func TestADamagedWarehouseSaysHowToRebuildIt(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.duckdb")
	w := open(t, whole, warehouse.ReadWrite)
	exec1(t, w, "create table raw.much as select hash(range) as h from range(1_000_000)")
	must.Do(t, w.Close())
	content := must.Get(os.ReadFile(whole))(t)
	garbage := []byte(strings.Repeat("garbage ", 1000))
	for what, damaged := range map[string][]byte{
		"cut in its head":   content[:5000],
		"cut in the middle": content[:len(content)/2],
		"another head":      append(append(append([]byte{}, content[:4200]...), garbage...), content[4200+len(garbage):]...),
		"other rows":        overwrite(content, garbage),
	} {
		path := filepath.Join(t.TempDir(), "w.duckdb")
		must.Do(t, os.WriteFile(path, damaged, 0o600))
		w, err := warehouse.Open(t.Context(), path, warehouse.ReadWrite)
		if err == nil {
			_, err = w.DB().ExecContext(t.Context(), "create table raw.sum as select sum(h::double) from raw.much")
			err = w.Explain(err)
			_ = w.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "warehouse "+path+": the file is damaged (") || strings.Count(err.Error(), path) > 2 {
			t.Errorf("%s: got %v", what, err)
		}
		if want := fmt.Sprintf("rebuild it from the runs and traces: mv %s %s.damaged; tidemark ingest --warehouse %s runs TRACE...", path, path, path); hint.Of(err) != want {
			t.Errorf("%s: hint %q, want %q", what, hint.Of(err), want)
		}
	}
}

// overwrite puts garbage all over the blocks of a file but its first and its last quarter.
func overwrite(content, garbage []byte) []byte {
	damaged := append([]byte{}, content...)
	for at := len(content) / 4; at < 3*len(content)/4; at += 256 << 10 {
		copy(damaged[at:], garbage)
	}
	return damaged
}

// The lock of a connection is gone once the same process has attached the file and detached it: a purge then lost what
// another process wrote before the new file took the place of the old one.
func TestBlockingWritersOutlastsADetach(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has such a lock")
	}
	path := warehousetest.File(t)
	release := must.Get(warehouse.BlockWriters(path))(t)
	w := warehousetest.Open(t)
	for _, statement := range []string{"attach '" + path + "' as old (read_only)", "detach old"} {
		must.Get(w.DB().Exec(statement))(t)
	}
	if _, err := warehouse.Open(t.Context(), path, warehouse.Update); !errors.Is(err, warehouse.ErrHeld) {
		t.Errorf("opened for writing while it is kept: %v, want that it is held", err)
	}
	release()
	again := must.Get(warehouse.Open(t.Context(), path, warehouse.Update))(t)
	again.Close()
}

// A writer that was killed in the middle of a transaction leaves a log in which DuckDB finds nothing, and which DuckDB leaves:
// the next writer ends it, so that nobody takes it for the log of a process that writes.
func TestATornLogEnds(t *testing.T) {
	path := warehousetest.File(t)
	alive := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	must.Get(alive.DB().Exec(warehousetest.Traces))(t)
	var killed [2][]byte // the file and its log at an instant within the transaction
	for i, name := range []string{path, path + ".wal"} {
		killed[i] = must.Get(os.ReadFile(name))(t)
	}
	must.Do(t, alive.Close())
	must.Do(t, os.WriteFile(path, killed[0], 0o600))
	must.Do(t, os.WriteFile(path+".wal", killed[1][:len(killed[1])/2], 0o600))
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.Update))(t)
	must.Do(t, w.Close())
	if log, err := os.Stat(path + ".wal"); err == nil {
		t.Errorf("there is still a log of %d bytes", log.Size())
	}
}
