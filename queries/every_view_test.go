//go:build duckdb_arrow

package queries_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/queries"
)

// Every view runs, all of its columns, in an empty warehouse and in a small one. Each that has run becomes a table for those that
// read it: DuckDB plans a view down to the raw tables, which for all of them would cost a minute of CPU.
func TestEveryViewRuns(t *testing.T) {
	for name, setup := range map[string]string{"empty": "select 1", "small": small(t)} {
		t.Run(name, func(t *testing.T) {
			db := filled(t, setup)
			noHugeint(t, db)
			marts, withRows := 0, 0
			for _, view := range bottomUp() {
				rows, err := run(db, view)
				if err != nil {
					t.Fatalf("%s: %v", view.Path, err)
				}
				if view.Schema == "marts" {
					marts++
					if rows > 0 {
						withRows++
					} else if name == "small" {
						t.Logf("%s: no rows", view.Relation())
					}
				}
			}
			if name == "small" {
				// Here, where the views that they read are tables already.
				examplesAnswer(t, db)
				headerExamplesAnswer(t, db)
			}
			if name == "small" && withRows < marts*2/3 {
				t.Errorf("%d of %d marts have rows: testdata/small.sql has too little", withRows, marts)
			}
		})
	}
}

func small(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/small.sql"))(t)
	return string(text)
}

// filled is a warehouse after some SQL, with its kept rows. Each text is filled once; a test has a copy of its own.
func filled(t *testing.T, setup string) *sql.DB {
	t.Helper()
	content := fills[setup]
	if content == nil {
		path := warehousetest.File(t)
		w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
		warehousetest.Put(t, w, "set threads = 1", setup)
		must.Do(t, w.Close())
		content = must.Get(os.ReadFile(path))(t)
		fills[setup] = content
	}
	path := filepath.Join(t.TempDir(), "filled.duckdb")
	must.Do(t, os.WriteFile(path, content, 0o600))
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	t.Cleanup(func() { w.Close() })
	must.Get(w.DB().Exec("set threads = 1"))(t)
	return w.DB()
}

var fills = map[string][]byte{}

// noHugeint looks at the type of each column: sum() of whole numbers gives 128 bits, which most readers of a result cannot hold.
func noHugeint(t *testing.T, db *sql.DB) {
	t.Helper()
	found := must.Get(ask(db, `
select concat(schema_name, '.', table_name, '.', column_name) as place
from duckdb_columns()
where data_type like '%HUGEINT%'
order by place`))(t)
	for _, row := range found[1:] {
		t.Errorf("%s is a HUGEINT: cast it to bigint or double", row[0])
	}
}

// run puts a table of a view's rows in its place, unless it is kept as one already, and counts them.
func run(db *sql.DB, view queries.File) (rows int64, err error) {
	asked := view.Relation()
	if !view.IsKept() {
		_, err := db.Exec(fmt.Sprintf("create table %s__rows as from %s; alter view %s rename to %s__view; alter table %s__rows rename to %s",
			asked, asked, asked, view.Name, asked, view.Name))
		if err != nil {
			return 0, err
		}
	}
	return rows, db.QueryRow(fmt.Sprintf("select count(*) from %s", asked)).Scan(&rows)
}

var reads = regexp.MustCompile(`\b(?:staging|marts|checks)\.[a-z0-9_]+`)

// bottomUp lists the views, each after those that it reads.
func bottomUp() []queries.File {
	byName := viewsByName()
	var order []queries.File
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		file, isView := byName[name]
		if !isView || seen[name] {
			return
		}
		seen[name] = true
		for _, below := range reads.FindAllString(queries.WithoutComments(file.Text), -1) {
			visit(below)
		}
		order = append(order, file)
	}
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			visit(file.Relation())
		}
	}
	return order
}

// headerExamplesAnswer wants rows from the examples in the comments of our SQL: they are what a newcomer tries first.
func headerExamplesAnswer(t *testing.T, db *sql.DB) {
	t.Helper()
	ofMacros := map[string]bool{} // TestEveryMacroExampleRuns asks these, several at once
	for _, macro := range queries.Macros() {
		ofMacros[macro.Example] = true
	}
	for _, example := range headerExamples() {
		if ofMacros[strings.Join(strings.Fields(example.Text), " ")] {
			continue
		}
		rows, err := ask(db, example.Text)
		if err != nil {
			t.Errorf("%s: %v\n%s", example.Path, err, example.Text)
		} else if len(rows) < 2 {
			t.Errorf("%s: no rows\n%s", example.Path, example.Text)
		}
	}
}

var (
	exampleStart = regexp.MustCompile(`^-- {3}(?:select|from|with) `)
	exampleLine  = regexp.MustCompile(`^-- {3,}\S`)
)

// headerExamples are the queries in comments: lines that are indented by three, from one that begins with select, from or with.
func headerExamples() []queries.File {
	var found []queries.File
	for _, schema := range []string{"seeds", "macros", "staging", "marts", "checks"} {
		for _, file := range queries.In(schema, ".sql") {
			isInside := false
			for line := range strings.Lines(file.Text) {
				switch {
				case isInside && exampleLine.MatchString(line):
					found[len(found)-1].Text += strings.TrimPrefix(line, "--")
				case exampleStart.MatchString(line):
					isInside = true
					found = append(found, queries.File{Path: file.Path, Text: strings.TrimPrefix(line, "--")})
				default:
					isInside = false
				}
			}
		}
	}
	return found
}
