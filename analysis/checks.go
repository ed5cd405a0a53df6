package analysis

import (
	"context"
	"database/sql"
	"fmt"
)

// Check is the result of one view of the schema checks. Such a view states something that must be true of the data and returns the rows
// that break it, so an empty answer is a pass. A new check is a new file in queries/checks; nothing here needs to change.
type Check struct {
	Name    string // of the view, without its schema
	Comment string // what must be true
	Rows    int64  // that break it; 0: the check passes
	First   Table  // the first of them
}

// shownRows is how many failing rows are kept: enough to see what is wrong.
const shownRows = 5

// RunChecks asks every view of the schema checks, in the order of their names. A check that fails is a result, not an error.
func RunChecks(ctx context.Context, db *sql.DB) ([]Check, error) {
	views, err := ask(ctx, db, `
select
    view_name,
    coalesce(comment, '') as comment
from duckdb_views()
where schema_name = 'checks'
order by view_name`)
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, view := range views.Rows {
		check := Check{Name: view[0].(string), Comment: view[1].(string)}
		if err := check.run(ctx, db); err != nil {
			return nil, fmt.Errorf("check %s: %w", check.Name, err)
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// run counts the rows that break the check, and keeps the first of them.
func (c *Check) run(ctx context.Context, db *sql.DB) error {
	err := db.QueryRowContext(ctx, "select count(*) from checks."+c.Name).Scan(&c.Rows)
	if err != nil || c.Rows == 0 {
		return err
	}
	c.First, err = ask(ctx, db, fmt.Sprintf("from checks.%s limit %d", c.Name, shownRows))
	return err
}
