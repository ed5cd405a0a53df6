//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
)

// materialized are views whose rows are computed once and kept in a table of
// that name. The view itself lives on as <name>_now. Nearly every mart reads
// staging.deployments, and planning what it stands on (the catalogue, the
// constants, the kernel tables) took most of the time of each query.
var materialized = []string{"staging.deployments"}

// fingerprintQuery summarises everything that the materialized tables are
// computed from, except the SQL: a new version rebuilds them anyway.
const fingerprintQuery = `
select concat_ws(' ',
    (select concat(count(*), '-', bit_xor(hash(run_id, document))) from raw.runs),
    (select concat(count(*), '-', bit_xor(hash(model_configs))) from raw.model_configs),
    (select concat(count(*), '-', bit_xor(hash(gpus))) from raw.gpus),
    (select concat(count(*), '-', bit_xor(hash(kernel_tables))) from raw.kernel_tables),
    (select concat(count(*), '-', bit_xor(hash(calibrations))) from raw.calibrations)
)`

// Querier is a database, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Refresh recomputes the materialized tables if their inputs have changed.
// Whoever writes runs, models, GPUs, kernel times or calibrations must call it.
// Opening a file for writing calls it as well, because the last writer may have
// been killed before it could.
func Refresh(ctx context.Context, db Querier) error {
	var before, now string
	if err := db.QueryRowContext(ctx, "select coalesce(max(fingerprint), '') from warehouse.kept").Scan(&before); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	if err := db.QueryRowContext(ctx, fingerprintQuery).Scan(&now); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	if now == before {
		return nil
	}
	for _, relation := range materialized {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("delete from %s; insert into %s select * from %s_now", relation, relation, relation)); err != nil {
			return fmt.Errorf("refresh %s: %w", relation, err)
		}
	}
	if _, err := db.ExecContext(ctx, "delete from warehouse.kept; insert into warehouse.kept values ('"+now+"')"); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return nil
}

// materialize turns the views into tables and fills them.
func materialize(ctx context.Context, tx *sql.Tx) error {
	for _, relation := range materialized {
		name := nameOf(part{relation: relation})
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("alter view %s rename to %s_now; create table %s as select * from %s_now limit 0",
			relation, name, relation, relation)); err != nil {
			return fmt.Errorf("keep %s: %w", relation, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "create or replace table warehouse.kept (fingerprint varchar not null)"); err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	return Refresh(ctx, tx)
}
