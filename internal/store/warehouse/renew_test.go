//go:build duckdb_arrow

package warehouse_test

import (
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// A version in which one mart's SQL is another fills that mart and those that read it, and leaves the rows of all others
// alone. Rows that are taken away show which tables were filled again.
func TestOnlyWhatHasOtherSQLIsComputedAgain(t *testing.T) {
	path := warehousetest.File(t)
	w := open(t, path, warehouse.ReadWrite)
	warehousetest.Put(t, w, aRun)
	rows := func(relation string) int64 { return number(t, w, "select count(*) from "+relation) }
	upgraded := func(statements ...string) {
		t.Helper()
		for _, statement := range append(statements, "update warehouse.stamp set stamp = 'another version'") {
			exec1(t, w, statement)
		}
		must.Do(t, w.Close())
		w = open(t, path, warehouse.ReadWrite)
	}
	wanted := func(what string, want map[string]int64) {
		t.Helper()
		for relation, n := range want {
			if got := rows(relation); got != n {
				t.Errorf("%s: %s has %d rows, want %d", what, relation, got, n)
			}
		}
	}
	const emptied = "delete from marts.fidelity; delete from marts.certificate_load; delete from marts.certificate; delete from marts.classes; delete from staging.requests where seq = 1"

	upgraded(emptied, "update warehouse.texts set fingerprint = 'other' where relation = 'marts.fidelity'")
	wanted("marts.fidelity is another", map[string]int64{"marts.fidelity": 1, "marts.certificate_load": 8, "marts.classes": 0, "staging.requests": 1, "marts.runs": 1})
	if rows("marts.certificate") == 0 {
		t.Error("marts.certificate reads marts.fidelity, and was not filled again")
	}

	upgraded("drop table warehouse.texts") // a version that kept no fingerprints
	wanted("an old file", map[string]int64{"marts.fidelity": 1, "marts.classes": 1, "staging.requests": 2, "marts.certificate": 23})
	must.Do(t, w.Close())
}

const aRun = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at)
values (1, 'a', 'run', 'run', 'p', 'a', 1, 2, 2, 0, null, false, 's', null, null, 1, now());
insert into raw.runs values ('a', 1, '{"status": "done", "started_at": "2026-11-20T12:00:00Z", "ended_at": "2026-11-20T12:01:00Z", "run_id": "a"}');
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
values ('a', 0, false, 10, 3, 0, 0, 0.5, 0.7, 0.7, 3), ('a', 1, false, 20, 5, 1, 1, 1.5, 2, 2, 5);`

// A snapshot that another version published lacks macros that this one asks: the error says what to do.
func TestAFileOfAnotherVersionSaysWhatToDo(t *testing.T) {
	path := warehousetest.File(t)
	w := open(t, path, warehouse.ReadWrite)
	exec1(t, w, "update warehouse.stamp set stamp = 'another version'")
	must.Do(t, w.Close())
	w = open(t, path, warehouse.AnyVersion)
	_, err := w.DB().Exec("select macros.of_tomorrow(1)")
	if err = w.Explain(err); err == nil || !strings.Contains(err.Error(), "another version of tidemark") {
		t.Errorf("got %v, want that the file is of another version", err)
	}
	_, err = w.DB().Exec("select 1 from")
	if err = w.Explain(err); err == nil || strings.Contains(err.Error(), "another version") {
		t.Errorf("got %v, want DuckDB's own words: the version has nothing to do with it", err)
	}
	must.Do(t, w.Close())
}
