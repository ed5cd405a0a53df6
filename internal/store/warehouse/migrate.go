//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tidemark/internal/hint"
	"tidemark/queries"
)

// bookkeeping is the warehouse's record of itself: which migrations have run,
// and of which SQL the views are.
const bookkeeping = `
create schema warehouse;
create table warehouse.migrations (number integer primary key, name varchar not null, applied_at timestamptz not null);
create table warehouse.stamp (stamp varchar not null, built_at timestamptz not null);
create schema raw;`

// bringUpToDate migrates and rebuilds as needed, and reports whether it did.
func bringUpToDate(ctx context.Context, tx *sql.Tx) (changed bool, err error) {
	found, err := look(ctx, tx)
	if err != nil {
		return false, err
	}
	if !found.ours {
		if found.relations > 0 {
			return false, hint.Errorf("a DuckDB file, but without tidemark's tables").
				Hint("it was not made by tidemark and is left alone; name another file with --warehouse FILE")
		}
		if _, err := tx.ExecContext(ctx, bookkeeping); err != nil {
			return false, err
		}
	}
	migrated, err := migrate(ctx, tx)
	if err != nil {
		return false, err
	}
	if !migrated && found.stamp == queries.Stamp() {
		return false, nil
	}
	return true, rebuild(ctx, tx, migrated)
}

// state is what a file says about itself.
type state struct {
	ours      bool
	relations int // tables and views of any kind
	stamp     string
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// look reads the state of a file without changing it. An empty file is neither
// ours nor foreign: a new warehouse starts as one.
func look(ctx context.Context, db querier) (state, error) {
	var s state
	err := db.QueryRowContext(ctx, `
		select
			count(*) filter (where schema_name = 'warehouse' and table_name in ('migrations', 'stamp')) = 2,
			count(*)
		from duckdb_tables()`).Scan(&s.ours, &s.relations)
	if err != nil || !s.ours {
		return s, err
	}
	err = db.QueryRowContext(ctx, "select coalesce(max(stamp), '') from warehouse.stamp").Scan(&s.stamp)
	return s, err
}

// checkStamp is all that a reader does: it checks that the file is ours and, unless
// any version will do, of this version.
func (w *Warehouse) checkStamp(ctx context.Context, mode Mode) error {
	found, err := look(ctx, w.db)
	if err != nil {
		return err
	}
	if !found.ours {
		return hint.Errorf("a DuckDB file, but without tidemark's tables").Hint("name another file with --warehouse FILE")
	}
	w.isOther = found.stamp != queries.Stamp()
	if w.isOther && mode != AnyVersion {
		return errStale
	}
	return nil
}

var errStale = hint.Wrap(ErrStale).
	Hint(`the next verb that writes brings it up to date: "tidemark ingest" of a file that is known changes nothing else`)

// migrate runs the migrations that the file has not seen. A file of a newer
// program is refused: its tables may have columns whose meaning this one does
// not know.
func migrate(ctx context.Context, tx *sql.Tx) (changed bool, err error) {
	var done int
	if err := tx.QueryRowContext(ctx, "select coalesce(max(number), 0) from warehouse.migrations").Scan(&done); err != nil {
		return false, err
	}
	migrations, err := queries.Migrations()
	if err != nil {
		return false, err
	}
	if done > len(migrations) {
		return false, hint.Errorf("made by a newer tidemark (migration %d; this one knows %d)", done, len(migrations)).
			Hint("use the newer program, or name another file with --warehouse FILE")
	}
	for _, migration := range migrations[done:] {
		if _, err := tx.ExecContext(ctx, migration.Text); err != nil {
			return false, fmt.Errorf("%s: %w", migration.Path, err)
		}
		_, err := tx.ExecContext(ctx, "insert into warehouse.migrations values (?, ?, ?)", migration.Number, migration.Name, time.Now().UTC())
		if err != nil {
			return false, err
		}
	}
	return done < len(migrations), nil
}
