//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"

	"tidemark/queries"
)

// Asker is what can be asked: a database, a connection, or a transaction where the answer must follow from what was changed in it.
type Asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Ask asks SQL that is written in this program, with the values in it where they can be: a question with parameters is bound twice.
func Ask(ctx context.Context, db Asker, query string, args ...any) (*sql.Rows, error) {
	if text, is := queries.WithValues(query, args); is {
		return db.QueryContext(ctx, text)
	}
	return db.QueryContext(ctx, query, args...)
}

// AskRow is Ask for an answer of one row.
func AskRow(ctx context.Context, db *sql.DB, query string, args ...any) *sql.Row {
	if text, is := queries.WithValues(query, args); is {
		return db.QueryRowContext(ctx, text)
	}
	return db.QueryRowContext(ctx, query, args...)
}

// Each asks SQL that is written in this program and calls row once for each row of the answer. scan reads the columns of that row into
// variables, as sql.Rows.Scan does.
func Each(ctx context.Context, db Asker, query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := Ask(ctx, db, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// All are the rows of an answer. columns are the places in a row for the columns of the answer, in their order.
func All[T any](ctx context.Context, db Asker, query string, args []any, columns func(row *T) []any) (all []T, err error) {
	err = Each(ctx, db, query, args, func(scan func(...any) error) error {
		var row T
		err := scan(columns(&row)...)
		all = append(all, row)
		return err
	})
	return all, err
}

// Values are those of the only column of an answer.
func Values[T any](ctx context.Context, db Asker, query string, args ...any) ([]T, error) {
	return All(ctx, db, query, args, func(value *T) []any { return []any{value} })
}

// Pairs are the values of the second column of an answer by those of the first.
func Pairs[K comparable, V any](ctx context.Context, db Asker, query string, args ...any) (map[K]V, error) {
	all := map[K]V{}
	err := Each(ctx, db, query, args, func(scan func(...any) error) error {
		var key K
		var value V
		err := scan(&key, &value)
		all[key] = value
		return err
	})
	return all, err
}
