package analysis

import (
	"context"
	"database/sql"
)

const sourceNames = `select source_name from staging.sources where kind = 'arrivals' order by source_name`

// Source is all that is known of one trace: one row of marts.sources.
func Source(ctx context.Context, db *sql.DB, name string) (Table, error) {
	table, err := ask(ctx, db, "from marts.sources where source_name = ?", name)
	if err != nil {
		return Table{}, err
	}
	if len(table.Rows) == 0 {
		return Table{}, unknownSource(ctx, db, name)
	}
	return described(ctx, db, table, "marts.sources")
}

func unknownSource(ctx context.Context, db *sql.DB, name string) error {
	return unknown(ctx, db, "source", name, sourceNames, `add one with "tidemark ingest"`)
}
