//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"
)

// Arrow hands out the Arrow interface of one connection, for as long as use runs.
func (w *Warehouse) Arrow(ctx context.Context, use func(*duckdb.Arrow) error) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return within(w.path, err)
	}
	defer conn.Close()
	return withArrow(conn, use)
}

func withArrow(conn *sql.Conn, use func(*duckdb.Arrow) error) error {
	return conn.Raw(func(raw any) error {
		arrow, err := duckdb.NewArrowFromConn(raw.(driver.Conn))
		if err != nil {
			return err
		}
		return use(arrow)
	})
}

// Tx is one transaction on one connection, with a door for Arrow.
type Tx struct{ conn *sql.Conn }

// Write runs change in one transaction: what it did is there whole, or, after an
// error or a kill, not at all.
func (w *Warehouse) Write(ctx context.Context, change func(*Tx) error) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return within(w.path, err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "begin transaction"); err != nil {
		return within(w.path, err)
	}
	if err := change(&Tx{conn}); err != nil {
		undo(conn)
		return err
	}
	if _, err := conn.ExecContext(ctx, "commit"); err != nil {
		undo(conn)
		return within(w.path, writeError(err))
	}
	return nil
}

// undo rolls back even when the caller's context has ended. DuckDB has done so
// itself after some errors, so that there may be nothing left to roll back.
func undo(conn *sql.Conn) {
	_, _ = conn.ExecContext(context.Background(), "rollback")
}

// Exec runs a statement.
func (tx *Tx) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := tx.conn.ExecContext(ctx, statement, args...)
	return writeError(err)
}

// QueryRow asks for one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.conn.QueryRowContext(ctx, query, args...)
}

// Arrow hands out the Arrow interface of the transaction, for as long as use runs.
func (tx *Tx) Arrow(use func(*duckdb.Arrow) error) error { return withArrow(tx.conn, use) }

// Stream runs the statement with the reader's batches as a view of that name.
// The reader is read from DuckDB's own threads and must be safe for that.
func (tx *Tx) Stream(ctx context.Context, reader array.RecordReader, view, statement string, args ...any) error {
	err := withArrow(tx.conn, func(arrow *duckdb.Arrow) error {
		release, err := arrow.RegisterView(reader, view)
		if err != nil {
			return err
		}
		defer release()
		result, err := arrow.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		result.Release()
		return nil
	})
	if err != nil {
		return writeError(err)
	}
	return tx.Exec(ctx, fmt.Sprintf("drop view %s", view))
}
