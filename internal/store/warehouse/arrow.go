//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"tidemark/queries"
)

// Described gives each field its unit and the comment on its column, as metadata.
func Described(schema *arrow.Schema, comments map[string]string) *arrow.Schema {
	fields := schema.Fields() // a copy
	for i, field := range fields {
		about := map[string]string{}
		if unit := queries.UnitOf(field.Name, comments[field.Name]); unit != "" {
			about["unit"] = unit
		}
		if comment := comments[field.Name]; comment != "" {
			about["comment"] = comment
		}
		fields[i].Metadata = arrow.MetadataFrom(about)
	}
	return arrow.NewSchema(fields, new(schema.Metadata()))
}

// Arrow lends the Arrow interface of one connection to use.
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

// Tx is one transaction on one connection, with access to Arrow. database/sql's
// own Tx does not give out its connection.
type Tx struct{ conn *sql.Conn }

// Write runs change in one transaction: after an error or a kill none of it is
// in the file.
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

// undo rolls back, even when the caller's context has ended. DuckDB has already
// done so after some errors, so the rollback's own error says nothing.
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

// Arrow lends the Arrow interface of the transaction to use.
func (tx *Tx) Arrow(use func(*duckdb.Arrow) error) error { return withArrow(tx.conn, use) }

// Stream runs a statement that sees the reader's batches as a view of that
// name. DuckDB's own threads call the reader, so it must be safe for concurrent
// use.
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
