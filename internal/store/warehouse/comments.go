//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/queries"
)

// comment stores the documentation of the SQL files in the catalogue (comment
// on), where DuckDB shells and the CLI find it.
func comment(ctx context.Context, tx *sql.Tx) error {
	known, err := columnsOf(ctx, tx)
	if err != nil {
		return err
	}
	var statements []string
	add := func(kind, relation, text string, columns map[string]string) {
		if text != "" {
			statements = append(statements, fmt.Sprintf("comment on %s %s is %s", kind, relation, quoted(text)))
		}
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			// A test of the queries finds headers that name a missing column. A
			// user should not, at every open.
			if known[relation+"."+name] {
				statements = append(statements, fmt.Sprintf("comment on column %s.%q is %s", relation, name, quoted(columns[name])))
			}
		}
	}
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			header := queries.ReadHeader(file.Text)
			kind := "view"
			if file.IsKept() {
				kind = "table"
			}
			add(kind, file.Relation(), header.Comment, header.Columns)
		}
	}
	for _, file := range queries.In("raw", ".sql") {
		for relation, columns := range queries.TableColumns(file.Text) {
			add("table", relation, "", columns)
		}
	}
	for _, file := range queries.In("seeds", ".sql") {
		header := queries.ReadHeader(file.Text)
		for name, text := range queries.TableColumns(seedTable(file))[file.Relation()] {
			header.Columns[name] = text
		}
		add("table", file.Relation(), header.Comment, header.Columns)
	}
	if len(statements) == 0 {
		return nil
	}
	_, err = tx.ExecContext(ctx, strings.Join(statements, ";\n"))
	return err
}

// columnsOf is the set of schema.relation.column.
func columnsOf(ctx context.Context, tx *sql.Tx) (map[string]bool, error) {
	names, err := Values[string](ctx, tx, "select schema_name || '.' || table_name || '.' || column_name from duckdb_columns() where not internal")
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	return known, err
}
