//go:build duckdb_arrow

package privacy

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// marked is a trace whose session ids are a mark that can be found in raw bytes.
func marked(t *testing.T, mark string, rows int) string {
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `{"session_id":"%s-%08d","timestamp":%d,"input_length":%d,"output_length":5}`+"\n", mark, i*7919%rows, i*10, 1+i%97)
	}
	return put(t, mark+".jsonl", []byte(text.String()))
}

func isIn(t *testing.T, path, mark string) bool {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return bytes.Contains(text, []byte(mark))
}

// What is purged, by date, by name or as a collection, is in no byte of the file;
// what stays is whole. Deleting the rows would not do.
func TestPurgeLeavesNoByte(t *testing.T) {
	path := emptyFile(t)
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	take(t, w, marked(t, "goesaway", 100_000), "old")
	take(t, w, marked(t, "stayshere", 3_000), "new")
	_, err := w.DB().Exec(`
		update raw.sources set ingested_at = timestamptz '2025-01-01' where name = 'old';
		insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at, collection)
		select n, name, kind, 'run', 'p', name, 1, 1, 1, 0, true, 1, now(), together
		from (values (11, 'run-a', 'run', null), (12, 'run-b', 'run', null), (13, 's1', 'arrivals', 'all'), (14, 's2', 'arrivals', 'all')) as v(n, name, kind, together);
		insert into raw.runs values ('a', 11, '{}'), ('b', 12, '{}');
		insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s) values ('a', 0, false, 1, 1, 0), ('b', 0, false, 1, 1, 0);
		insert into raw.samples (run_id, at_s, origin, name, labels, value) values ('a', 0, 'server', 'x', '', 1), ('b', 0, 'server', 'x', '', 1);
		insert into raw.step_joins values ('a', 13, 0, 0, 1, 0, 0), ('a', 12, 0, 0, 1, 0, 0), ('b', 12, 0, 0, 1, 0, 0), ('b', 13, 0, 0, 1, 0, 0);
		insert into raw.rejects values (11, 1, 'c', 'r'), (12, 1, 'c', 'r');
		insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens) values (13, 1, 0, 1, 1), (14, 1, 0, 1, 1)`)
	if err == nil {
		err = warehouse.Refresh(t.Context(), w.DB())
	}
	if closeErr := w.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	if !isIn(t, path, "goesaway") || !isIn(t, path, "stayshere") {
		t.Fatal("the marks are not to be seen before the purge; the test would prove nothing")
	}

	deleted := put(t, "deleted.duckdb", bytesOf(t, path))
	w = must.Get(warehouse.Open(t.Context(), deleted, warehouse.ReadWrite))(t)
	_, err = w.DB().Exec("delete from raw.arrivals where source_id = 1; delete from raw.sources where source_id = 1; checkpoint")
	if closeErr := w.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	if !isIn(t, deleted, "goesaway") {
		t.Log("DuckDB left nothing of the rows that were deleted: a purge could be simpler now")
	}

	before := bytesOf(t, path)
	if _, err := Purge(t.Context(), path, time.Time{}, []string{"run-c"}, nil); err == nil || !bytes.Equal(before, bytesOf(t, path)) {
		t.Errorf("an unknown name: got %v, want an error and the file as it was", err)
	}
	summer := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	result, err := Purge(t.Context(), path, summer, []string{"run-a", "all"}, nil)
	if err != nil || len(result.Sources) != 0 || !bytes.Equal(before, bytesOf(t, path)) {
		t.Errorf("named, and none of it so old: got %+v, %v; want nothing gone", result, err)
	}
	result = must.Get(Purge(t.Context(), path, summer, []string{"old", "new"}, nil))(t)
	if len(result.Sources) != 1 || result.Sources[0].Name != "old" || result.Sources[0].Rows != 100_000 || result.After >= result.Before {
		t.Errorf("got %+v, want the old one gone of the two that were named, its 100,000 rows, and a smaller file", result)
	}
	if result, err = Purge(t.Context(), path, time.Time{}, []string{"run-a", "all"}, nil); err != nil || len(result.Sources) != 3 {
		t.Errorf("got %+v, %v; want a run and two sources of a collection gone", result, err)
	}
	if isIn(t, path, "goesaway") {
		t.Error("the purged source is in the file yet")
	}
	if !isIn(t, path, "stayshere") {
		t.Error("what was to stay is not in the file")
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("%v lie there, want the warehouse alone", left)
	}
	w = openFile(t, path)
	for table, want := range map[string]int{
		"raw.arrivals": 3000, "raw.sources": 2, "raw.runs": 1, "raw.requests": 1, "raw.samples": 1, "raw.step_joins": 1, "raw.rejects": 1, "marts.sources": 1,
	} {
		var n int
		if err := w.DB().QueryRow("select count(*) from " + table).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d rows, %v; want %d", table, n, err, want)
		}
	}
}

// A purge through a link empties the file that it points to, and leaves the link;
// the new file may be read by whom the old one could.
func TestPurgeThroughALink(t *testing.T) {
	path := emptyFile(t)
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	take(t, w, marked(t, "goesaway", 2_000), "old")
	must.Do(t, w.Close())
	must.Do(t, os.Chmod(path, 0o640))
	link := filepath.Join(t.TempDir(), "link.duckdb")
	must.Do(t, os.Symlink(path, link))
	if result, err := Purge(t.Context(), link, time.Time{}, []string{"old"}, nil); err != nil || len(result.Sources) != 1 || result.After >= result.Before {
		t.Fatalf("got %+v, %v", result, err)
	}
	if isIn(t, path, "goesaway") {
		t.Error("the data is still in the file that the link points to")
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has permissions %v, %v; want those of the old one", info.Mode(), err)
	}
}

func bytesOf(t *testing.T, path string) []byte {
	text := must.Get(os.ReadFile(path))(t)
	return text
}

// A table whose rows nobody owns could not be purged.
func TestEveryRawTableSaysWhoseItsRowsAre(t *testing.T) {
	w := openFile(t, emptyFile(t))
	tables, err := warehouse.Values[string](t.Context(), w.DB(), "select table_name from duckdb_tables() where schema_name = 'raw'")
	if err != nil || len(tables) == 0 {
		t.Fatal(err)
	}
	for _, table := range tables {
		columns := must.Get(warehouse.Values[string](t.Context(), w.DB(), "select column_name from duckdb_columns() where schema_name = 'raw' and table_name = $1", table))(t)
		if _, err := condition(table, columns, []int64{1}); err != nil {
			t.Error(err)
		}
	}
}

// A purge that was killed leaves a copy of the warehouse. The next writer removes it, and so does the next purge.
func TestWhatAKilledPurgeLeft(t *testing.T) {
	path := warehousetest.File(t)
	link := filepath.Join(t.TempDir(), "link.duckdb")
	must.Do(t, os.Symlink(path, link))
	for why, next := range map[string]func() error{
		"a writer": func() error {
			w, err := warehouse.Open(t.Context(), link, warehouse.ReadWrite)
			return cmp.Or(err, w.Close())
		},
		"a purge": func() error {
			_, err := Purge(t.Context(), path, time.Unix(1, 0), nil, nil)
			return err
		},
	} {
		left := must.Get(os.MkdirTemp(filepath.Dir(path), warehouse.PurgeFolder(path)))(t)
		must.Do(t, os.WriteFile(filepath.Join(left, "w.duckdb"), []byte("rows"), 0o600))
		other := filepath.Join(filepath.Dir(path), "other.duckdb.purge-1")
		must.Do(t, os.MkdirAll(other, 0o700))
		must.Do(t, next())
		if _, err := os.Stat(left); err == nil {
			t.Errorf("after %s: %s is still there", why, left)
		}
		if _, err := os.Stat(other); err != nil {
			t.Errorf("after %s: what is of another warehouse is gone", why)
		}
	}
}

// While a purge works, no writer can open the warehouse, so that nobody takes its copy for one that was left.
func TestAPurgeKeepsWritersOut(t *testing.T) {
	path := warehousetest.File(t)
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	warehousetest.Put(t, w, warehousetest.Traces)
	must.Do(t, w.Close())
	withdrawn := false
	_, err := Purge(t.Context(), path, time.Time{}, []string{"day"}, func() {
		withdrawn = true
		if left, _ := filepath.Glob(path + ".purge-*"); len(left) != 1 {
			t.Errorf("the purge's own folder: got %q", left)
		}
		if release, err := os.Open(path); err != nil {
			t.Error(err)
		} else {
			defer release.Close()
			lock := unix.Flock_t{Type: unix.F_WRLCK}
			if err := unix.FcntlFlock(release.Fd(), unix.F_OFD_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
				t.Errorf("a writer could open the warehouse now (%v)", err)
			}
		}
	})
	if err != nil || !withdrawn {
		t.Errorf("got %v, withdrawn %v", err, withdrawn)
	}
}
