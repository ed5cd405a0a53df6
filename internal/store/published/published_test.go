//go:build duckdb_arrow

package published_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(readVariable); path != "" {
		readForEver(path)
	}
	published.EveryWarehouseIsLarge()
	m.Run()
}

// A run of two requests, and a trace of one.
func aRun(id string) string {
	return fmt.Sprintf(`
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at)
select coalesce(max(source_id), 0) + 1, '%[1]s', 'run', 'run', 'p', '%[1]s', 1, 2, 2, 0, null, false, 's', null, null, 1, now() from raw.sources;
insert into raw.runs select '%[1]s', max(source_id), '{"status": "done", "started_at": "2026-11-20T12:00:00Z", "ended_at": "2026-11-20T12:01:00Z", "run_id": "%[1]s"}' from raw.sources;
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
values ('%[1]s', 0, false, 10, 3, 0, 0, 0.5, 0.7, 0.7, 3), ('%[1]s', 1, false, 20, 5, 1, 1, 1.5, 2, 2, 5);`, id)
}

const aTrace = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at)
values (1000, 'day', 'arrivals', 'azure', 'd.csv', 'aa', 10, 1, 1, 0, timestamptz '2023-11-16 18:00:00+00', true, 'datetime', null, null, 1, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens) values (1000, 2, 0, 100, 10);`

// namedTrace is one of a number and a name of its own.
func namedTrace(id string) string {
	return strings.NewReplacer("1000", id, "'day'", "'day"+id+"'", "'aa'", "'"+id+"'").Replace(aTrace)
}

// readVariable makes the test binary read a snapshot until it is killed.
const readVariable = "TIDEMARK_TEST_READ"

func readForEver(path string) {
	w, err := warehouse.Open(context.Background(), path, warehouse.ReadOnly)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = w.DB().Exec("from raw.sources")
	fmt.Println("reads", err)
	select {}
}

// A reader that is killed (-9) leaves no lock: the file that it read is brought up to date, and not copied.
func TestAKilledReaderHoldsUpNobody(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	change(t, path, folder, namedTrace("1"))
	change(t, path, folder, namedTrace("2"))
	read := inode(t, published.Snapshot(folder))
	reader := exec.Command(os.Args[0])
	reader.Env = append(os.Environ(), readVariable+"="+published.Snapshot(folder))
	out := must.Get(reader.StdoutPipe())(t)
	must.Do(t, reader.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "reads <nil>\n" {
		t.Errorf("the reader said %q", line)
	}
	_ = reader.Process.Kill()
	_ = reader.Wait()
	keptUp(t, path, folder, namedTrace("3")) // the file that was read is the spare one now
	keptUp(t, path, folder, namedTrace("4"))
	if inode(t, published.Snapshot(folder)) != read {
		t.Error("the file that was read was not brought up to date: latest.duckdb is another file")
	}
}

// change opens the warehouse, runs the statements, and publishes as a writer does.
func change(t *testing.T, path, folder string, statements ...string) published.Result {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	warehousetest.Put(t, w, statements...)
	result, done, publishErr := published.Publish(t.Context(), w, folder, "test")
	must.Do(t, w.Close())
	done()
	if publishErr != nil {
		t.Fatal(publishErr)
	}
	return result
}

// keptUp changes the warehouse, and what is published must be the same.
func keptUp(t *testing.T, path, folder string, statements ...string) {
	t.Helper()
	change(t, path, folder, statements...)
	same(t, path, folder)
}

// refused is the error of publishing after the statements.
func refused(t *testing.T, path, folder string, statements ...string) error {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	warehousetest.Put(t, w, statements...)
	_, done, err := published.Publish(t.Context(), w, folder, "test")
	w.Close()
	done()
	return err
}

// answer is what one query says of a warehouse, or of files of a lake.
func answer(t *testing.T, path, query string, args ...any) string {
	t.Helper()
	w := opened(t, path)
	defer w.Close()
	return text(t, w.DB(), fmt.Sprintf(query, args...))
}

// state wants what Fresh says of the folder.
func state(t *testing.T, path, folder string, want published.Freshness) {
	t.Helper()
	if got, _, err := published.Fresh(path, folder); err != nil || got != want {
		t.Errorf("fresh: got %v (%v), want %v", got, err, want)
	}
}

// contents are the rows of every table of a file that a user's data decides.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadOnly))(t)
	defer w.Close()
	found := map[string]string{}
	for _, table := range strings.Fields(text(t, w.DB(), "select string_agg(concat(schema_name, '.', table_name), ' ') from duckdb_tables() where schema_name in ('raw', 'staging', 'marts', 'warehouse')")) {
		found[table] = text(t, w.DB(), fmt.Sprintf("select coalesce(string_agg(each::varchar, chr(10) order by each::varchar), '') from %s as each", table))
	}
	return found
}

func text(t *testing.T, db *sql.DB, query string) (found string) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&found); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func same(t *testing.T, path, folder string) {
	t.Helper()
	want, got := contents(t, path), contents(t, published.Snapshot(folder))
	for table := range want {
		if want[table] != got[table] {
			t.Errorf("%s: published is\n%s\nwant\n%s", table, got[table], want[table])
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d tables are published, want %d", len(got), len(want))
	}
	state(t, path, folder, published.Current)
}

// parts are the files of the lake, without the manifest's opinion.
func parts(t *testing.T, folder string) (found []string) {
	t.Helper()
	for _, path := range filesIn(t, filepath.Join(folder, "lake")) {
		found = append(found, strings.TrimPrefix(path, folder+"/lake/"))
	}
	return found
}

func filesIn(t *testing.T, folder string) (found []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// Two snapshots in turn, one of them read by somebody: what is published is always the warehouse.
func TestEveryChangeIsPublished(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	if first := change(t, path, folder, aRun("a")); !first.IsFirst || first.Bytes == 0 {
		t.Errorf("the first time: got %+v", first)
	}
	same(t, path, folder)
	keptUp(t, path, folder, aRun("b"), aTrace)
	spare := filepath.Join(folder, "spare.duckdb")
	before := inode(t, spare)
	const aDemand = "insert or replace into raw.service_demands (service, week, demand_key, source_ids, document) values ('chat', '%s', '%s', [1], '{}')"
	keptUp(t, path, folder, aRun("c"), fmt.Sprintf(aDemand, "2026-W46", "old"), fmt.Sprintf(aDemand, "2026-W47", "old")) // brings the spare one up to date
	if inode(t, published.Snapshot(folder)) != before {
		t.Error("the spare file was not brought up to date: latest.duckdb is another file")
	}
	// What was worked out from several sources: one week again, one is gone, one stays.
	keptUp(t, path, folder, fmt.Sprintf(aDemand, "2026-W48", "new"))
	keptUp(t, path, folder, fmt.Sprintf(aDemand, "2026-W47", "new"), "delete from raw.service_demands where week = '2026-W46'")
	// A decision on runs that were published before.
	keptUp(t, path, folder, `insert into raw.decisions (decision_id, run_id, place, status, document) values ('first', 'a', 0, 'accepted', '{}'), ('first', 'b', 1, 'rejected', '{}')`)
	keptUp(t, path, folder, `insert into raw.decisions (decision_id, run_id, place, status, document) values ('second', 'a', 0, 'rejected', '{}')`)
	// A run that is gone.
	keptUp(t, path, folder, "delete from raw.decisions where run_id = 'b'; delete from raw.requests where run_id = 'b'; delete from raw.runs where run_id = 'b'; delete from raw.sources where name = 'b'")

	reader := opened(t, spare)
	defer reader.Close()
	keptUp(t, path, folder, aRun("d"))
	if got := text(t, reader.DB(), "select string_agg(run_id, ' ' order by run_id) from marts.runs"); got != "a b c" {
		t.Errorf("who reads an old snapshot sees the runs %q, want those of its time: a b c", got)
	}
}

func opened(t *testing.T, path string) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Open(warehouse.WithFiles(t.Context()), path, warehouse.ReadOnly))(t)
	return w
}

func inode(t *testing.T, path string) string {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino)
}

// The lake has each run and source once, only what is new is written, and what is gone goes.
func TestTheLakeHasWhatTheWarehouseHas(t *testing.T) {
	path := warehousetest.File(t)
	folder := filepath.Join(t.TempDir(), "elsewhere")
	const aWeek = `insert into raw.service_weeks values ('chat', '2026-W47', [], 'ab', '{"hours": [{"local_hour": "2026-11-16 00:00+01:00"}], "sums": {"hours": 1}}')`
	change(t, path, folder, aRun("a b/c"), aTrace, aWeek)
	all := parts(t, folder)
	for _, want := range []string{
		"staging.requests/run_date=2026-11-20/run=a%20b%2Fc/part.parquet", "marts.runs/run_date=2026-11-20/run=a%20b%2Fc/part.parquet",
		"staging.arrivals/source=1000/part.parquet", "marts.service_hours/service_name=chat/iso_week=2026-W47/part.parquet", "marts.service_weeks/service_name=chat/iso_week=2026-W47/part.parquet",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("the lake has no %s; it has %q", want, all)
		}
	}
	old := must.Get(os.Stat(filepath.Join(folder, "lake", all[0])))(t)
	change(t, path, folder, aRun("later"))
	if now, err := os.Stat(filepath.Join(folder, "lake", all[0])); err != nil || !os.SameFile(old, now) {
		t.Errorf("%s was written again (%v)", all[0], err)
	}
	glob := filepath.Join(folder, "lake/staging.requests/**/*.parquet")
	if got := answer(t, path, "select concat_ws(' ', count(*), count(distinct run_id), sum(ttft_s), any_value(run_date)) from read_parquet('%s')", glob); got != "4 2 2.0 2026-11-20" {
		t.Errorf("the lake's requests: got %q, want 4 of 2 runs", got)
	}
	manifest := must.Get(published.ReadManifest(folder))(t)
	if len(manifest.Parts) != len(parts(t, folder)) {
		t.Errorf("the manifest names %d parts, the lake has %d", len(manifest.Parts), len(parts(t, folder)))
	}
	for _, part := range manifest.Parts {
		if info, err := os.Stat(filepath.Join(folder, part.Path)); err != nil || info.Size() != part.Bytes || part.Rows == 0 || len(part.SHA256) != 64 {
			t.Errorf("%+v: %v", part, err)
		}
	}
	service := filepath.Join(folder, "lake/marts.service_hours/service_name=chat/iso_week=2026-W47/part.parquet")
	before := must.Get(os.Stat(service))(t)
	change(t, path, folder, strings.Replace(aWeek, "W47", "W48", 1))
	if now, err := os.Stat(service); err != nil || !os.SameFile(before, now) {
		t.Errorf("a week was written again because of another (%v)", err)
	}
	change(t, path, folder, "update raw.service_weeks set document = replace(document::varchar, '00:00', '01:00') where week = '2026-W47'")
	if got := answer(t, path, "select string_agg(week || ' ' || local_hour, ', ' order by week) from read_parquet('%s')", filepath.Join(folder, "lake/marts.service_hours/**/*.parquet")); got != "2026-W47 2026-11-16 01:00+01:00, 2026-W48 2026-11-16 00:00+01:00" {
		t.Errorf("the lake's hours of weeks: got %q", got)
	}
	change(t, path, folder, "delete from raw.arrivals; delete from raw.sources where source_id = 1000")
	if left := parts(t, folder); slices.Contains(left, "staging.arrivals/source=1000/part.parquet") || len(left) == 0 {
		t.Errorf("after the source was removed the lake has %q", left)
	}
}

// The fields of a part have unit and comment, where Arrow's readers look for them.
func TestTheLakesFieldsAreDescribed(t *testing.T) {
	path := warehousetest.File(t)
	folder := filepath.Join(t.TempDir(), "elsewhere")
	change(t, path, folder, aRun("r"))
	w := opened(t, path)
	defer w.Close()
	file := filepath.Join(folder, "lake/staging.requests/run_date=2026-11-20/run=r/part.parquet")
	message := must.Get(base64.StdEncoding.DecodeString(text(t, w.DB(), fmt.Sprintf("select decode(value) from parquet_kv_metadata('%s') where decode(key) = 'ARROW:schema'", file))))(t)
	stream := must.Get(ipc.NewReader(bytes.NewReader(message)))(t)
	defer stream.Release()
	var names []string
	for _, field := range stream.Schema().Fields() {
		names = append(names, field.Name)
		if _, is := field.Metadata.GetValue("comment"); !is {
			t.Errorf("%s has no comment", field.Name)
		}
		if unit, _ := field.Metadata.GetValue("unit"); field.Name == "ttft_s" && unit != "s" {
			t.Errorf("the unit of ttft_s is %q", unit)
		}
	}
	if got := text(t, w.DB(), fmt.Sprintf("select string_agg(name, ' ') from parquet_schema('%s') where num_children is null", file)); got != strings.Join(names, " ") {
		t.Errorf("the file has the columns %s, and its schema for Arrow %s", got, names)
	}
}

// The longest name of a run that a file system does not take as it is still gets a folder, and no other run's.
func TestARunWithALongNameIsPublished(t *testing.T) {
	path := warehousetest.File(t)
	folder := filepath.Join(t.TempDir(), "elsewhere")
	long := strings.Repeat("прогон ", 20)
	change(t, path, folder, aRun(long+"1"), aRun(long+"2"))
	w := opened(t, path)
	glob := filepath.Join(folder, "lake/marts.runs/**/*.parquet")
	if got := text(t, w.DB(), fmt.Sprintf("select concat_ws(' ', count(distinct run_id), count(distinct run)) from read_parquet('%s')", glob)); got != "2 2" {
		t.Errorf("the lake's runs and their folders: got %q, want 2 2", got)
	}
}

// An error leaves the old snapshot, and a folder of somebody else's is left alone.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	path := warehousetest.File(t)
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "thesis.txt"), []byte("mine"), 0o600))
	must.Fail(t, refused(t, path, folder), "not published by tidemark")
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("the folder has %d entries, want the one that it had", len(entries))
	}
}

// After Withdraw, which a purge calls, nothing of what was removed is left in any published file, in none of the folders where the
// warehouse was published, and neither in what killed processes left there.
func TestNothingPublishedOutlivesAPurge(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	const secret = "the-run-that-must-go"
	change(t, path, folder, aRun(secret))
	change(t, path, folder, aRun("stays"))
	if found := filesWith(t, folder, secret); len(found) == 0 {
		t.Fatal("the run is in no published file, so that the test shows nothing")
	}
	other, another := filepath.Join(filepath.Dir(path), "other"), filepath.Join(t.TempDir(), "another") // beside the warehouse, and not
	change(t, path, other)
	change(t, path, another)
	for _, name := range []string{"latest.duckdb.tmp", "latest.duckdb.tmp-56", "manifest.json.tmp-78", "spare.duckdb.old", ".serve-12-34"} {
		must.Do(t, os.WriteFile(filepath.Join(other, name), []byte(secret), 0o600))
	}
	must.Do(t, os.WriteFile(filepath.Join(other, "manifest.json"), nil, 0o600)) // damaged
	theirs := filepath.Join(t.TempDir(), "theirs")                              // of another warehouse
	change(t, warehousetest.File(t), theirs, strings.Replace(aTrace, "'day'", "'"+secret+"'", 1))
	emptied, err := published.Withdraw(path, theirs)
	if want := []string{folder, other, another}; err != nil || !slices.Equal(emptied, want) {
		t.Errorf("withdrawn from %q (%v), want %q", emptied, err, want)
	}
	for _, place := range emptied {
		if found := filesWith(t, place, secret); len(found) > 0 {
			t.Errorf("the removed run is still in %q", found)
		}
	}
	if found := filesWith(t, theirs, secret); len(found) == 0 {
		t.Error("what is published of another warehouse is gone")
	}
	state(t, path, folder, published.Due)
	fresh := warehousetest.File(t) // as purge does, a file without it
	must.Do(t, os.Rename(fresh, path))
	change(t, path, folder, aRun("stays"))
	if found := filesWith(t, folder, secret); len(found) > 0 {
		t.Errorf("the removed run is still in %q", found)
	}
}

func filesWith(t *testing.T, folder, word string) (found []string) {
	t.Helper()
	for _, path := range filesIn(t, folder) {
		content := must.Get(os.ReadFile(path))(t)
		if bytes.Contains(content, []byte(word)) || strings.Contains(path, word) {
			found = append(found, path)
		}
	}
	return found
}

func TestSwitchedOff(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	change(t, path, folder, namedTrace("1"))
	must.Do(t, published.SwitchOff(path, folder))
	change(t, path, folder, namedTrace("2"))
	state(t, path, folder, published.SwitchedOff)
	if _, err := os.Stat(published.Snapshot(folder)); err == nil {
		t.Error("there is a snapshot")
	}
	must.Do(t, published.SwitchOn(folder))
	keptUp(t, path, folder)
}

// A file that cannot be written leaves the old snapshot and the old lake's parts, and the next time all is published.
func TestAnErrorLeavesTheOldSnapshot(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	change(t, path, folder, aRun("a"))
	must.Do(t, os.Remove(filepath.Join(folder, "spare.duckdb"))) // else that is brought up to date
	must.Do(t, os.MkdirAll(filepath.Join(folder, "spare.duckdb.old", "in the way"), 0o700))
	must.Fail(t, refused(t, path, folder, aRun("b")), "publish into "+folder)
	if got := answer(t, published.Snapshot(folder), "select string_agg(run_id, ' ') from marts.runs"); got != "a" {
		t.Errorf("the snapshot has the runs %q, want the old one", got)
	}
	state(t, path, folder, published.Older)
	must.Do(t, os.RemoveAll(filepath.Join(folder, "spare.duckdb.old")))
	keptUp(t, path, folder)
}

// Where others may make files, one is not written through a link that they have put in its place.
func TestPublishingFollowsNoLink(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	change(t, path, folder, namedTrace("1"))
	victim := filepath.Join(t.TempDir(), "victim.duckdb")
	must.Do(t, os.WriteFile(victim, []byte("mine"), 0o600))
	plant := func(name string) {
		link := filepath.Join(folder, name)
		must.Do(t, errors.Join(os.RemoveAll(link), os.Symlink(victim, link)))
	}
	for _, name := range []string{"latest.duckdb.tmp", "spare.duckdb.tmp", "manifest.json.tmp", "latest.duckdb.tmp-12", "spare.duckdb"} {
		plant(name)
	}
	keptUp(t, path, folder, namedTrace("2"))
	plant(".lock")
	must.Fail(t, published.SwitchOff(path, folder))
	if text, err := os.ReadFile(victim); string(text) != "mine" || err != nil {
		t.Fatalf("the file behind the links is now %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.tmp-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if os.Geteuid() != 0 {
		return // only root can give a folder away
	}
	theirs := t.TempDir()
	must.Do(t, os.Chown(theirs, 12345, 12345))
	must.Fail(t, published.SwitchOff(path, theirs), "belongs to another user")
}

// Two warehouses do not overwrite each other in one folder. One that was moved, with the folder or without, is the same one,
// and Forget, which is publish --replace, gives the folder away.
func TestTwoWarehousesOneFolder(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "for-all")
	one, other := warehousetest.File(t), warehousetest.File(t)
	change(t, one, folder, namedTrace("1"))
	isRefused := func(path string) {
		t.Helper()
		must.Fail(t, refused(t, path, folder), "another warehouse, ", "tidemark warehouse publish --replace")
		state(t, path, folder, published.OfAnother)
	}
	isRefused(other)
	same(t, one, folder)

	link := filepath.Join(parent, "link.duckdb")
	moved := filepath.Join(parent, "moved.duckdb")
	must.Do(t, os.Symlink(one, link))
	change(t, link, folder, namedTrace("2")) // the same file by another name
	same(t, one, folder)
	must.Do(t, os.Rename(one, moved))
	change(t, moved, folder)
	same(t, moved, folder)
	isRefused(other)

	away := filepath.Join(t.TempDir(), "away") // the warehouse and the folder move together
	must.Do(t, os.Rename(parent, away))
	moved, folder = filepath.Join(away, "moved.duckdb"), filepath.Join(away, "for-all")
	same(t, moved, folder)
	isRefused(other)

	must.Do(t, published.Forget(folder))
	change(t, other, folder, namedTrace("3"))
	same(t, other, folder)
	isRefused(moved)
}

// Who removes the warehouse and makes another one under its name gets the other one's rows, never the old ones.
func TestAnotherWarehouseOfTheSameName(t *testing.T) {
	path := warehousetest.File(t)
	folder := published.Folder(path, "")
	for _, id := range []string{"a", "b"} {
		keptUp(t, path, folder, aRun(id))
		change(t, path, folder, aTrace) // the spare file is of this warehouse
		must.Do(t, os.Remove(path))
		state(t, path, folder, published.Missing)
		must.Do(t, os.Rename(warehousetest.File(t), path))
		if state, _, err := published.Fresh(path, folder); err != nil || state == published.Current {
			t.Errorf("a new warehouse: got %v (%v), want that the snapshot is of another state", state, err)
		}
	}
}
