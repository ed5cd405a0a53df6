//go:build duckdb_arrow

package queries_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// A warehouse of version 1 opens, keeps what is in it, and has the columns of later versions.
func TestAWarehouseOfVersionOneIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.duckdb")
	makeVersionOne(t, path)
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	defer w.Close()
	compare(t, w.DB(), `
select
    requests.run_id,
    requests.ttft_s,
    requests.endpoint,
    requests.server_ttft_s,
    samples.url,
    samples.value
from staging.requests
join staging.samples using (run_id)`, [][]string{
		{"run_id", "ttft_s", "endpoint", "server_ttft_s", "url", "value"},
		{"old", "0.5", "", "", "", "3"},
	})
	compare(t, w.DB(), "select max(number) as number from warehouse.migrations", [][]string{{"number"}, {"15"}})
	compare(t, w.DB(), "select comment from duckdb_columns() where schema_name = 'raw' and table_name = 'samples' and column_name = 'url'",
		[][]string{{"comment"}, {"address of the exposition; null for the client's own state"}})
}

// makeVersionOne is what the first version made of a file: its bookkeeping, its one migration and a run.
func makeVersionOne(t *testing.T, path string) {
	t.Helper()
	migrations := must.Get(queries.Migrations())(t)
	db := must.Get(sql.Open("duckdb", path))(t)
	for _, statement := range []string{
		`create schema warehouse;
create table warehouse.migrations (number integer primary key, name varchar not null, applied_at timestamptz not null);
create table warehouse.stamp (stamp varchar not null, built_at timestamptz not null);
create schema raw;`,
		migrations[0].Text,
		"insert into warehouse.migrations values (1, '0001_raw', now())",
		"insert into warehouse.stamp values ('of version 1', now())",
		"insert into raw.runs values ('old', 1, '{}')",
		"insert into raw.samples values ('old', 1, 'server', 'vllm:num_requests_running', '', 3)",
		`insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s)
values ('old', 0, false, 10, 2, 0, 0, 0.5)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	must.Do(t, db.Close())
}
