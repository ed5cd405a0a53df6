package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

const sourceNames = `
select source_name as name
from staging.sources
where kind = 'arrivals'
union
select collection as name
from staging.sources
where kind = 'arrivals'
    and collection is not null
order by name`

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

// Tick is what the clock of a trace counts in; an error where no tick is seen.
func Tick(ctx context.Context, db *sql.DB, name string) (time.Duration, error) {
	var tick sql.NullFloat64
	err := db.QueryRowContext(ctx, "select tick_s from marts.sources where source_name = ?", name).Scan(&tick)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, unknownSource(ctx, db, name)
	case err != nil:
		return 0, fmt.Errorf("source %s: %w", name, err)
	case !tick.Valid:
		return 0, misuse("leave --spread-ticks out", "source %s: no tick is seen in its clock, so there is none to spread", name)
	}
	return time.Duration(math.Round(tick.Float64 * float64(time.Second))), nil
}
