//go:build duckdb_arrow

package workload

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"tidemark/analysis/answers"
	"tidemark/replay/profile"
)

// offMean is by how much a mean may be off before a note says so.
const offMean = 0.03

// holdMeans narrows the buckets of each window to the mean that was counted in it.
func (s *histograms) holdMeans(ctx context.Context, db *sql.DB, name string) error {
	return answers.Each(ctx, db, `
select
    coalesce(class, ''),
    coalesce(window_from_s, 0),
    coalesce(window_until_s, 0),
    quantity = 'input_tokens',
    mean_tokens
from staging.length_means`+ofSources+`
order by all`, []any{name}, func(scan func(...any) error) error {
		var class string
		var from, until, mean float64
		var isInput bool
		if err := scan(&class, &from, &until, &isInput, &mean); err != nil {
			return err
		}
		for i := range s.lengths[sender{class: class}] {
			window := &s.lengths[sender{class: class}][i]
			if window.From != durationOf(from) || window.Until != durationOf(until) {
				continue
			}
			buckets, what := window.Output, "answers"
			if isInput {
				buckets, what = window.Input, "prompts"
			}
			if got := profile.HoldMean(buckets, mean); len(buckets) > 0 && math.Abs(got/mean-1) > offMean {
				s.notes = append(s.notes, fmt.Sprintf("the buckets of its %s cannot have the mean that it counted, %.1f tokens: drawn are %.1f in the mean", what, mean, got))
			}
		}
		return nil
	})
}
