//go:build duckdb_arrow

package workload

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/store/warehouse"
	"tidemark/replay/profile"
)

// offMean is by how much a mean may be off before a note says so.
const offMean = 0.03

// holdMeans narrows the buckets of each window to the mean that was counted in it. Sums may have been looked at more often than buckets: those within a
// window are added up.
func (s *histograms) holdMeans(ctx context.Context, db *sql.DB, name string) error {
	counted := map[string][2][]summed{} // by class: of answers and of prompts, in order of time
	err := warehouse.Each(ctx, db, `
select
    coalesce(class, ''),
    coalesce(window_from_s, 0),
    coalesce(window_until_s, 0),
    quantity = 'input_tokens',
    mean_tokens * requests,
    requests
from staging.length_means`+ofSources+`
order by all`, []any{name}, func(scan func(...any) error) error {
		var class string
		var from, until float64
		var isInput bool
		var sum summed
		if err := scan(&class, &from, &until, &isInput, &sum.tokens, &sum.requests); err != nil {
			return err
		}
		sum.from, sum.until = durationOf(from), durationOf(until)
		of := counted[class]
		of[place(isInput)] = append(of[place(isInput)], sum)
		counted[class] = of
		return nil
	})
	if err != nil {
		return err
	}
	for class, of := range counted {
		for i := range s.lengths[sender{class: class}] {
			window := &s.lengths[sender{class: class}][i]
			s.holdMean(window.Output, meanWithin(of[0], window.From, window.Until), "answers")
			s.holdMean(window.Input, meanWithin(of[1], window.From, window.Until), "prompts")
		}
	}
	return nil
}

func place(isInput bool) int {
	if isInput {
		return 1
	}
	return 0
}

// summed is what was counted between two looks.
type summed struct {
	from, until      time.Duration
	tokens, requests float64
}

// meanWithin is the mean of what was counted within a window; NaN where nothing was.
func meanWithin(counted []summed, from, until time.Duration) float64 {
	first, _ := slices.BinarySearchFunc(counted, from, func(c summed, at time.Duration) int { return cmp.Compare(c.from, at) })
	tokens, requests := 0.0, 0.0
	for _, c := range counted[first:] {
		if c.from > until || c.from == until && until > from {
			break
		}
		if c.until <= until {
			tokens, requests = tokens+c.tokens, requests+c.requests
		}
	}
	return tokens / requests
}

func (s *histograms) holdMean(buckets []profile.Bucket, mean float64, what string) {
	if len(buckets) == 0 || math.IsNaN(mean) {
		return
	}
	if got := profile.HoldMean(buckets, mean); math.Abs(got/mean-1) > offMean {
		s.notes = append(s.notes, fmt.Sprintf("the buckets of its %s cannot have the mean that it counted, %.1f tokens: drawn are %.1f in the mean", what, mean, got))
	}
}
