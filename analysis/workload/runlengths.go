//go:build duckdb_arrow

package workload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"tidemark/internal/store/warehouse"
	"tidemark/replay/profile"
)

// LengthsOfRun gives the prompt and answer lengths of a run's successful requests as they really were: as the server's usage reports them,
// else as planned (prompts) and as received (answers). A profile that is fitted to them describes the load that the server had, and not the
// load that was meant. Warm-up is left out. isRun is false if there is no such run.
func LengthsOfRun(ctx context.Context, db *sql.DB, runID string) (l profile.Lengths, isRun bool, err error) {
	if err := db.QueryRowContext(ctx, "select count(*) > 0 from staging.runs where run_id = ?", runID).Scan(&isRun); err != nil || !isRun {
		return l, isRun, err
	}
	l.Pairs, err = warehouse.All(ctx, db, `
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
    output`, []any{runID}, func(pair *profile.Pair) []any { return []any{&pair.Input, &pair.Output, &pair.Count} })
	if err == nil && len(l.Pairs) == 0 {
		err = errors.New("no request of it succeeded")
	}
	if err != nil {
		err = fmt.Errorf("run %s: %w", runID, err)
	}
	return l, true, err
}
