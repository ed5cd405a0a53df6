package answers

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"tidemark/internal/store/warehouse"
)

// Stream asks a user's SQL, which must be one statement that only reads. Everything else is refused, also statements that would write files.
// Rows are handed out one by one while DuckDB produces them, so that memory does not grow with the answer. start is called once before the first
// row. The slice given to row is reused for the next row.
func Stream(ctx context.Context, db *sql.DB, query string, start func(columns []string) error, row func([]any) error) error {
	query = Meant(query)
	connection, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	return explained(connection.Raw(func(raw any) error {
		conn := raw.(driver.Conn)
		if err := readsOnly(conn, query); err != nil {
			return err
		}
		var cells []any
		return warehouse.Stream(ctx, conn, query, start, func(values []driver.Value) error {
			cells = cells[:0]
			for _, value := range values {
				cells = append(cells, simple(value))
			}
			return row(cells)
		})
	}))
}
