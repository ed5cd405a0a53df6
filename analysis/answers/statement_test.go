//go:build duckdb_arrow

package answers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// read asks and drops the answer.
func read(t *testing.T, w *warehouse.Warehouse, query string) error {
	return answers.Stream(t.Context(), w.DB(), query, func([]string) error { return nil }, func([]any) error { return nil })
}

// "select 1; select 2" lost the first answer without a word, and "copy" wrote files.
func TestAQueryIsOneStatementThatReads(t *testing.T) {
	w := open(t)
	file := filepath.Join(t.TempDir(), "out.csv")
	for _, query := range []string{
		"copy (select 1) to 'FILE'",
		"copy (select 1) to 'FILE'; select 1",
		"select 1; copy (select 1) to 'FILE'",
		"explain analyze copy (select 1) to 'FILE'",
		"explain (analyze) copy (select 1) to 'FILE'",
		"explain /* */ analyze copy (select 1) to 'FILE'",
		"explain (format json, analyze) copy (select 1) to 'FILE'",
		"explain analyze export database 'FILE'",
		"-- a\n/* b */ export database 'FILE'",
		"/* */ explain analyze copy (select 1) to 'FILE'",
		"export database 'FILE'",
		"attach 'FILE'",
		"install httpfs",
		"create table made as select 1",
		"delete from raw.arrivals",
		"set threads = 1",
		"pragma enable_profiling",
	} {
		err := read(t, w, strings.ReplaceAll(query, "FILE", file))
		if strings.Contains(query, ";") {
			must.Fail(t, err, "more than one statement", "one at a time")
		} else {
			must.Fail(t, err, "not a query", "--csv")
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: wrote the file", query)
		}
	}
	must.Fail(t, read(t, w, "select 1; select 2"), "more than one statement", "one at a time")

	must.Do(t, os.WriteFile(file, []byte("a\n1\n"), 0o600))
	for _, query := range []string{
		"select 1;", "select 1; -- alone", "from marts.runs", "with one as (select 1) from one", "values (1)", "describe marts.runs",
		"show tables", "summarize marts.runs", "pragma table_info('raw.runs')", "explain select 1", "explain analyze select 1",
		"explain (analyze, format json) select 1", "/* why */ select 1", "(select 1)", "explain (select 1)", "from read_csv('" + file + "')",
		"pivot (select 'a' as x) on x in ('a', 'b') using count(*)",
	} {
		if err := read(t, w, query); err != nil {
			t.Errorf("%s: got %v, want an answer", query, err)
		}
	}
}
