//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"tidemark/internal/deployment"
)

// A configuration that was rejected says so when it comes up again: where it is decided on, compared, or about to be replayed. marts.rejected has
// the rejections; one stands until a run of the same configuration is accepted.

const rejectedQuery = `
select
    asked.name,
    rejected.decided_at,
    coalesce(rejected.decided_by, ''),
    coalesce(rejected.contract_name, ''),
    rejected.origin,
    coalesce(rejected.why, ''),
    coalesce(rejected.reason, '')
from %s as asked
inner join marts.rejected on rejected.fingerprint = asked.fingerprint
where rejected.is_standing
qualify row_number() over (partition by asked.name order by rejected.decided_at desc) = 1
order by asked.name`

// RejectedRuns says in a line of each of these runs whose configuration was rejected before who did that, and why.
func RejectedRuns(ctx context.Context, db *sql.DB, runs []string) ([]string, error) {
	return rejectedBefore(ctx, db, `(
    select
        coalesce(nullif(name, ''), run_id) as name,
        macros.configuration_fingerprint(deployment) as fingerprint
    from staging.runs
    where list_contains(string_split(?, ','), run_id)
)`, list(runs))
}

// RejectedDeployment does the same of a deployment that nothing was sent to yet; empty: it was not rejected.
func RejectedDeployment(ctx context.Context, db *sql.DB, d deployment.Deployment) (string, error) {
	said, err := rejectedBefore(ctx, db, `(
    select
        '' as name,
        macros.configuration_fingerprint(macros.deployment_fields(?::json)) as fingerprint
)`, d.SQL())
	return strings.Join(said, ""), err
}

func rejectedBefore(ctx context.Context, db *sql.DB, asked, arg string) (lines []string, err error) {
	// A file of an older version has no such table, and a mart of no decisions takes as long to plan as one of many.
	for _, query := range []string{"select exists (from duckdb_tables() where schema_name = 'raw' and table_name = 'decisions')", "select exists (from raw.decisions)"} {
		var is bool
		if err := db.QueryRowContext(ctx, query).Scan(&is); err != nil || !is {
			return nil, err
		}
	}
	err = each(ctx, db, fmt.Sprintf(rejectedQuery, asked), []any{arg}, func(scan func(...any) error) error {
		var name, by, contract, origin, why, reason string
		var at time.Time
		if err := scan(&name, &at, &by, &contract, &origin, &why, &reason); err != nil {
			return err
		}
		line := "this configuration was rejected on " + at.UTC().Format(time.DateOnly) + " by " + by
		if name != "" {
			line = name + ": " + line
		}
		if contract != "" {
			line += " under the contract " + contract
		}
		if origin != "measured" {
			line += ", as " + origin
		}
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", line, why, reason))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rejected before: %w", err)
	}
	return lines, nil
}
