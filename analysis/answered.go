//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"
)

// Answered counts the requests of a run that were answered, without warm-up and what the user cancelled.
type Answered struct {
	Requests, Failed float64
	// SE is the standard error of the share that failed, over the blocks of time that intervals of one run rest on: failures come in bursts.
	SE     float64
	Blocks float64
}

const answeredQuery = `
with requests as (
    select
        is_success,
        least(floor(macros.resampled_blocks() * (due_s - min(due_s) over (partition by run_id)) / nullif(max(due_s) over (partition by run_id) - min(due_s) over (partition by run_id), 0)),
            macros.resampled_blocks() - 1) as block
    from staging.requests
    where run_id = ?
        and not is_warm_up
        and coalesce(failure, '') <> 'cancelled'
),

blocks as (
    select
        count(*)::double as requests,
        (count(*) filter (where not is_success))::double as failed
    from requests
    group by block
),

totals as (
    select
        sum(requests) as requests,
        sum(failed) as failed
    from blocks
)

select
    coalesce(any_value(totals.requests), 0),
    coalesce(any_value(totals.failed), 0),
    coalesce(sqrt(sum((blocks.failed - blocks.requests * totals.failed / totals.requests) ** 2)
        * macros.resampled_blocks() / (macros.resampled_blocks() - 1.0e0)) / any_value(totals.requests), 0),
    macros.resampled_blocks()
from blocks
cross join totals`

// AnsweredOf is in the order of the runs.
func AnsweredOf(ctx context.Context, db *sql.DB, runs []string) ([]Answered, error) {
	counts := make([]Answered, len(runs))
	for i, run := range runs {
		c := &counts[i]
		if err := db.QueryRowContext(ctx, answeredQuery, run).Scan(&c.Requests, &c.Failed, &c.SE, &c.Blocks); err != nil {
			return nil, fmt.Errorf("run %s: answered requests: %w", run, err)
		}
	}
	return counts, nil
}
