//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// streamed holds the prepared statements whose results are to be streamed.
var streamed sync.Map // of prepared statements

func init() {
	mapping.PendingPrepared = func(statement mapping.PreparedStatement, pending *mapping.PendingResult) mapping.State {
		if _, is := streamed.Load(statement.Ptr); is {
			return duckdb_go_bindings.PendingPreparedStreaming(statement, pending)
		}
		return duckdb_go_bindings.PendingPrepared(statement, pending)
	}
}

// Stream runs one statement on a connection and hands out its rows while DuckDB
// produces them, so memory does not grow with the result. begin is called once,
// before the first row. The values of a row are the driver's own, and the slice
// is reused for the next row. Stream returns soon after the context ends.
func Stream(ctx context.Context, connection driver.Conn, query string, begin func(columns []string) error, row func([]driver.Value) error) error {
	conn, isDuckDB := connection.(*duckdb.Conn)
	if !isDuckDB {
		return fmt.Errorf("stream: a %T is not a connection to DuckDB", connection)
	}
	prepared, err := conn.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer prepared.Close()
	statement := prepared.(*duckdb.Stmt)
	handle := insideOf(statement, "preparedStmt").Elem().FieldByName("Ptr").UnsafePointer()
	streamed.Store(handle, true)
	defer streamed.Delete(handle)
	rows, err := statement.QueryContext(ctx, nil)
	if err != nil {
		return err
	}
	// The driver interrupts a query only until its first row is there.
	done := make(chan struct{})
	var watched sync.WaitGroup
	watched.Go(func() { interruptAfter(ctx, conn, done) })
	err = readStream(ctx, rows, begin, row)
	close(done)
	watched.Wait() // before the connection may be closed
	return errors.Join(err, rows.Close())
}

func readStream(ctx context.Context, rows driver.Rows, begin func(columns []string) error, row func([]driver.Value) error) error {
	columns := rows.Columns()
	if err := begin(columns); err != nil {
		return err
	}
	values := make([]driver.Value, len(columns))
	for {
		err := rows.Next(values)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == io.EOF {
			// The driver mistakes an error in the middle of a stream for its
			// end.
			result := (*mapping.Result)(unsafe.Pointer(insideOf(rows, "res").UnsafeAddr()))
			if text := mapping.ResultError(result); text != "" {
				return errors.New(text)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

// interruptAfter interrupts the connection once the context has ended, and
// keeps doing so: an interrupt is lost if the work starts a moment later.
func interruptAfter(ctx context.Context, conn *duckdb.Conn, done <-chan struct{}) {
	handle := mapping.Connection{Ptr: insideOf(conn, "conn").FieldByName("Ptr").UnsafePointer()}
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	for {
		mapping.Interrupt(handle)
		select {
		case <-done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// insideOf is a field that one of the driver's structs does not export.
func insideOf(pointer any, field string) reflect.Value {
	return reflect.ValueOf(pointer).Elem().FieldByName(field)
}
