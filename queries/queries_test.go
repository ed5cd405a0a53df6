//go:build duckdb_arrow

package queries_test

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/queries"
)

// Each view, and some of the examples, has a <name>.txtar beside it: what is put in (setup.sql), what must
// come out (want.csv) and, where the whole view is not what is asked for, the
// question (query.sql). An empty cell of want.csv is a null. Floats may differ
// by 1e-9 of themselves. Each is put into a transaction that is rolled back, because to open a warehouse
// costs as much as to ask a view; what is kept of its runs has been computed with that of other cases.
func TestViews(t *testing.T) {
	all := &batches{dir: t.TempDir(), by: map[string]*batch{}}
	shared := make(chan *sql.DB, runtime.GOMAXPROCS(0))
	for range cap(shared) {
		shared <- open(t).DB()
	}
	for _, path := range examples(t) {
		t.Run(strings.TrimSuffix(filepath.ToSlash(path), ".txtar"), func(t *testing.T) {
			archive := must.Get(txtar.ParseFile(path))(t)
			sections := map[string]string{}
			for _, file := range archive.Files {
				sections[file.Name] = string(file.Data)
			}
			want, err := csv.NewReader(strings.NewReader(sections["want.csv"])).ReadAll()
			if err != nil || len(want) == 0 {
				t.Fatalf("%s: want.csv: no header (%v)", path, err)
			}
			query := sections["query.sql"]
			if filepath.Dir(path) == "examples" {
				query = exampleSQL(t, strings.TrimSuffix(filepath.Base(path), ".txtar"))
			} else if query == "" {
				query = fmt.Sprintf("select %s from %s order by all", strings.Join(want[0], ", "), relation(path))
			}
			var b *batch
			var one *batched
			if len(keptFor([]string{query})) > 0 {
				b, one = all.add(path, sections["setup.sql"], query)
			}
			t.Parallel() // here every case that runs has been added
			db := <-shared
			defer func() { shared <- db }()
			tx := must.Get(db.Begin())(t)
			defer func() {
				must.Do(t, tx.Rollback())
			}()
			if _, err := tx.Exec(sections["setup.sql"]); err != nil {
				t.Fatalf("%s: setup.sql: %v", path, err)
			}
			must.Get(tx.Exec(undescribedRuns))(t)
			must.Do(t, errors.Join(warehousetest.ForgetKnown(tx, sections["setup.sql"]), warehouse.KnowAgain(t.Context(), tx)))
			if b != nil {
				b.file(t)
				err = one.take(tx, t, b)
			} else {
				err = warehouse.RefreshWithin(t.Context(), tx, relation(path), query)
			}
			must.Do(t, err)
			compare(t, tx, query, want)
		})
	}
}

// undescribedRuns are the runs of which a test gives requests or samples, and no run.json.
const undescribedRuns = `
insert into raw.runs
select run_id, 0, '{}'
from (select run_id from raw.requests union select run_id from raw.samples)
where run_id not in (select run_id from raw.runs)`

// relation is the view that a file is the test of: marts/tpot_gap.txtar, or
// marts/tpot_gap.moe.txtar for a second case, is of marts.tpot_gap.
func relation(path string) string {
	schema := filepath.Base(filepath.Dir(path))
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return schema + "." + name
}

func examples(t *testing.T) []string {
	var found []string
	must.Do(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".txtar" {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return warehousetest.Open(t)
}

func compare(t *testing.T, db warehouse.Querier, query string, want [][]string) {
	t.Helper()
	got, err := ask(db, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if len(got) != len(want) {
		t.Errorf("got %d rows, want %d; got:\n%s", len(got)-1, len(want)-1, printed(got))
		return
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("row %d: got %d columns, want %d:\n%s", i, len(got[i]), len(want[i]), printed(got))
		}
		for j := range want[i] {
			if !same(got[i][j], strings.TrimSpace(want[i][j])) {
				t.Errorf("row %d, %s: got %q, want %q", i, want[0][j], got[i][j], want[i][j])
			}
		}
	}
	if t.Failed() {
		t.Logf("got:\n%s", printed(got))
	}
}

// same compares as numbers what are numbers on both sides.
func same(got, want string) bool {
	if got == want {
		return true
	}
	x, errX := strconv.ParseFloat(got, 64)
	y, errY := strconv.ParseFloat(want, 64)
	if errX != nil || errY != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

// ask returns the header and the rows, each cell as DuckDB writes it.
func ask(db warehouse.Querier, query string) ([][]string, error) {
	query = strings.TrimRight(strings.TrimSpace(query), ";")
	rows, err := db.QueryContext(context.Background(), "select columns(*)::varchar from ("+query+"\n) as asked")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	header, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	table := [][]string{header}
	for rows.Next() {
		cells := make([]sql.NullString, len(header))
		targets := make([]any, len(header))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		line := make([]string, len(header))
		for i, cell := range cells {
			line[i] = cell.String
		}
		table = append(table, line)
	}
	return table, rows.Err()
}

func printed(table [][]string) string {
	var text strings.Builder
	writer := csv.NewWriter(&text)
	_ = writer.WriteAll(table)
	return text.String()
}

// A view without a test beside it is not finished. A check's test is that the
// suite breaks the truth it protects, so checks need one as well.
func TestEveryViewHasATest(t *testing.T) {
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			if _, err := os.Stat(filepath.Join(schema, file.Name+".txtar")); err != nil {
				t.Errorf("%s: no %s.txtar beside it", file.Path, file.Name)
			}
		}
	}
}

// What the program takes for the comment of a view or a seed is what a warehouse says.
func TestCommentsAreThoseOfTheWarehouse(t *testing.T) {
	rows := must.Get(open(t).DB().Query(`
		select schema_name || '.' || table_name, coalesce(comment, '') from duckdb_tables() where schema_name in ('seeds', 'staging', 'marts')
		union all
		select schema_name || '.' || view_name, coalesce(comment, '') from duckdb_views() where schema_name in ('staging', 'marts', 'checks')`))(t)
	defer rows.Close()
	known := 0
	for rows.Next() {
		var relation, comment string
		must.Do(t, rows.Scan(&relation, &comment))
		if got := queries.Comment(relation); got != comment {
			t.Errorf("%s: %q, want %q", relation, got, comment)
		}
		if comment != "" {
			known++
		}
	}
	must.Do(t, rows.Err())
	if views := len(queries.In("marts", ".sql")); known < views {
		t.Errorf("%d relations have a comment, want all %d marts and more", known, views)
	}
}

// What the headers say and what the views have is the same list of columns.
func TestHeadersNameTheColumns(t *testing.T) {
	w := open(t)
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			header := queries.ReadHeader(file.Text)
			if header.Comment == "" {
				t.Errorf("%s: no grain in its header", file.Path)
			}
			columns := columns(t, w.DB(), schema, file.Name)
			for name := range columns {
				if header.Columns[name] == "" {
					t.Errorf("%s: column %s is not in its header", file.Path, name)
				}
			}
			for name := range header.Columns {
				if !columns[name] {
					t.Errorf("%s: its header names %s, which is no column", file.Path, name)
				}
			}
		}
	}
}

func columns(t *testing.T, db *sql.DB, schema, name string) map[string]bool {
	t.Helper()
	rows := must.Get(db.Query("select column_name from duckdb_columns() where schema_name = ? and table_name = ?", schema, name))(t)
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var column string
		must.Do(t, rows.Scan(&column))
		found[column] = true
	}
	return found
}

// SQL has floors: raw and seeds, macros, staging, marts. Nothing reads upward
// and no mart reads raw; a check may read everything.
func TestNothingReadsUpward(t *testing.T) {
	forbidden := map[string][]string{
		"macros":  {"staging.", "marts.", "checks."},
		"staging": {"marts.", "checks."},
		"marts":   {"raw.", "checks."},
	}
	for schema, schemas := range forbidden {
		for _, file := range queries.In(schema, ".sql") {
			code := queries.WithoutComments(file.Text)
			for _, name := range schemas {
				if strings.Contains(code, " "+name) || strings.Contains(code, "\n"+name) || strings.Contains(code, "("+name) {
					t.Errorf("%s: names %s*", file.Path, name)
				}
			}
		}
	}
}

func TestStatements(t *testing.T) {
	text := "-- a; b\ncreate macro macros.x(a) as a || ';' /* ; */;\nselect \"o;k\"; -- end\n"
	got := queries.Statements(text)
	if len(got) != 2 || !strings.Contains(got[0], "create macro") || got[1] != `select "o;k"` {
		t.Errorf("Statements: got %q", got)
	}
}

func TestIsWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"select 1": false, "select 1;": true, "select 1; -- done\n": true, "select 1; select 2": false, "select ';": false, "select ';'": false,
		"select 1 -- ;": false, "select \"a;\" ; ": true, "": false,
	} {
		if got := queries.IsWhole(text); got != want {
			t.Errorf("IsWhole(%q): got %v", text, got)
		}
	}
}

func TestReadHeader(t *testing.T) {
	header := queries.ReadHeader(`-- One row per request.
-- It says why.
--
-- A second paragraph.
-- tpot_s         gap between tokens,
--                seconds
-- p50_x, p99_x   quantiles
select 1 -- not_a_column  this is no header
`)
	if header.Comment != "One row per request. It says why.\nA second paragraph." {
		t.Errorf("comment: got %q", header.Comment)
	}
	want := map[string]string{"tpot_s": "gap between tokens, seconds", "p50_x": "quantiles", "p99_x": "quantiles"}
	if fmt.Sprint(header.Columns) != fmt.Sprint(want) {
		t.Errorf("columns: got %v, want %v", header.Columns, want)
	}
}
