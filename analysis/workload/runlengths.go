//go:build duckdb_arrow

package workload

import (
	"context"
	"database/sql"
	"fmt"

	"tidemark/replay/profile"
)

// LengthsOfRun are the prompt and answer lengths of a run's successful requests as they really were: as the server's usage reports
// them, else as planned (prompts) and as received (answers). Warm-up is left out. isRun is false if there is no such run.
func LengthsOfRun(ctx context.Context, db *sql.DB, runID string) (l profile.Lengths, isRun bool, err error) {
	if err := db.QueryRowContext(ctx, "select count(*) > 0 from staging.runs where run_id = ?", runID).Scan(&isRun); err != nil || !isRun {
		return l, isRun, err
	}
	rows, err := db.QueryContext(ctx, `
select
    coalesce(input_tokens_reported, input_tokens)::bigint as input,
    coalesce(output_tokens_reported, received_tokens, output_tokens)::bigint as output,
    count(*) as requests
from staging.requests
where run_id = ?
    and is_success
    and not is_warm_up
group by
    input,
    output
order by
    input,
    output`, runID)
	if err != nil {
		return l, true, fmt.Errorf("run %s: %w", runID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var pair profile.Pair
		if err := rows.Scan(&pair.Input, &pair.Output, &pair.Count); err != nil {
			return l, true, err
		}
		l.Pairs = append(l.Pairs, pair)
	}
	if err := rows.Err(); err != nil {
		return l, true, err
	}
	if len(l.Pairs) == 0 {
		return l, true, fmt.Errorf("run %s: no request of it succeeded", runID)
	}
	return l, true, nil
}
