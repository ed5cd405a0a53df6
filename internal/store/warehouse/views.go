//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// made ends a view's name while the views that read it are made.
const made = "__made"

// makeViews makes views, each after those that it reads. To make a view, DuckDB
// plans everything below it, down to the raw tables. The marts stand on each
// other a dozen levels deep, so nearly all time would go into planning the same
// views again. While a view's readers are made, an empty table with the same
// columns therefore takes its place. For a kept view that table stays.
func makeViews(ctx context.Context, tx *sql.Tx, views []part) error {
	var standing []string
	for _, floor := range floorsOf(views) {
		for _, view := range floor {
			if err := view.create(ctx, tx); err != nil {
				return fmt.Errorf("%s: %w", view.path, err)
			}
		}
		columns, err := columnLists(ctx, tx)
		if err != nil {
			return err
		}
		var swaps []string
		for _, view := range floor {
			swaps = append(swaps, fmt.Sprintf("alter view %s rename to %s; create table %s (%s)",
				view.relation, nameOf(view)+made, view.relation, columns[view.relation]))
			if view.isKept {
				standing = append(standing, fmt.Sprintf("drop view %s", view.relation+made))
				continue
			}
			standing = append(standing, fmt.Sprintf("drop table %s; alter view %s rename to %s",
				view.relation, view.relation+made, nameOf(view)))
		}
		if _, err := tx.ExecContext(ctx, strings.Join(swaps, ";\n")); err != nil {
			return err
		}
	}
	if len(standing) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, strings.Join(standing, ";\n"))
	return err
}

func nameOf(view part) string {
	_, name, _ := strings.Cut(view.relation, ".")
	return name
}

// floorsOf sorts ordered views into floors: each view reads only views on lower
// floors.
func floorsOf(views []part) [][]part {
	height := map[string]int{}
	var floors [][]part
	for _, view := range views {
		on := 0
		for _, name := range referred(view.text) {
			if below, ok := height[name]; ok && name != view.relation {
				on = max(on, below+1)
			}
		}
		height[view.relation] = on
		if on == len(floors) {
			floors = append(floors, nil)
		}
		floors[on] = append(floors[on], view)
	}
	return floors
}

// columnLists are the columns of all views, in the form that create table
// wants.
func columnLists(ctx context.Context, tx *sql.Tx) (map[string]string, error) {
	return Pairs[string, string](ctx, tx, `
		select schema_name || '.' || table_name, string_agg('"' || column_name || '" ' || data_type, ', ' order by column_index)
		from duckdb_columns()
		where schema_name in ('staging', 'marts', 'checks') and database_name = current_database()
		group by all`)
}
