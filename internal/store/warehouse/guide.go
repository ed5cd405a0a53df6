//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tidemark/queries"
)

// guideTables are what a newcomer finds the way by, also in a DuckDB shell or a notebook: "from warehouse.catalogue".
const guideTables = `
create or replace table warehouse.groups (name varchar primary key, place bigint not null, question varchar not null);
create or replace table warehouse.catalogue (relation varchar not null, "group" varchar not null, example varchar);
create or replace table warehouse.examples (name varchar primary key, "group" varchar not null, place bigint not null, question varchar not null, meaning varchar not null, query varchar not null)`

// guide stores the groups of relations and macros and the example questions, and comments the macros.
func guide(ctx context.Context, tx *sql.Tx) error {
	statements := []string{guideTables}
	var rows []string
	for place, group := range queries.Groups {
		rows = append(rows, fmt.Sprintf("(%s, %d, %s)", quoted(group.Name), place, quoted(group.Question)))
	}
	statements = append(statements, "insert into warehouse.groups values "+strings.Join(rows, ", "))

	rows = nil
	for _, schema := range append([]string{"seeds"}, queries.Views...) {
		for _, file := range queries.In(schema, ".sql") {
			rows = append(rows, fmt.Sprintf("(%s, %s, null)", quoted(file.Relation()), quoted(queries.GroupOf(file.Text))))
		}
	}
	for _, macro := range queries.Macros() {
		kind := "macro"
		if macro.IsTable {
			kind = "macro table"
		}
		statements = append(statements, fmt.Sprintf("comment on %s %s is %s", kind, macro.Name, quoted(macro.Comment+"\nExample: "+macro.Example)))
		rows = append(rows, fmt.Sprintf("(%s, %s, %s)", quoted(macro.Name), quoted(macro.Group), quoted(macro.Example)))
	}
	statements = append(statements, "insert into warehouse.catalogue values "+strings.Join(rows, ", "))

	rows = nil
	for place, example := range queries.Examples() {
		rows = append(rows, fmt.Sprintf("(%s, %s, %d, %s, %s, %s)",
			quoted(example.Name), quoted(example.Group), place, quoted(example.Question), quoted(example.Meaning), quoted(example.SQL)))
	}
	if len(rows) > 0 {
		statements = append(statements, "insert into warehouse.examples values "+strings.Join(rows, ", "))
	}
	_, err := tx.ExecContext(ctx, strings.Join(statements, ";\n"))
	return err
}
