package analysis

import (
	"context"
	"database/sql"
	"fmt"

	"tidemark/analysis/answers"
	"tidemark/internal/store/warehouse"
)

// Table is answers' own type under the name of this package, so that callers who only pass answers on need not import both.
type Table = answers.Table

// Nearly every file here asks the warehouse or reports an unknown name; these are short names for it.
var (
	ask     = answers.Ask
	askRow  = warehouse.AskRow
	each    = warehouse.Each
	unknown = answers.Unknown
)

// askFor is ask for a verb of the command line, whose name leads the error.
func askFor(ctx context.Context, verb string, db *sql.DB, query string, args ...any) (Table, error) {
	table, err := ask(ctx, db, query, args...)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", verb, err)
	}
	return table, nil
}
