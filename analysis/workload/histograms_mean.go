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

// Buckets of a server's histogram may be as wide as they are high: lengths that are drawn evenly over them had a mean 47 % above the one
// that the server counted, where all prompts had 1,024 tokens and the bucket reaches from 1,000 to 2,000. So lengths are drawn from a
// part of each bucket, its low or its high end, and the same share of each, such that the mean is the server's _sum over its _count.

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
			if got := holdMean(buckets, mean); len(buckets) > 0 && math.Abs(got/mean-1) > offMean {
				s.notes = append(s.notes, fmt.Sprintf("the buckets of its %s cannot have the mean that it counted, %.1f tokens: drawn are %.1f in the mean", what, mean, got))
			}
		}
		return nil
	})
}

// holdMean narrows buckets, if it can, so that their lengths have a mean, and returns the one that they have.
func holdMean(buckets []profile.Bucket, mean float64) float64 {
	least := func(b profile.Bucket) float64 { return math.Floor(b.From) + 1 }
	count, low, width := 0.0, 0.0, 0.0
	for _, b := range buckets {
		count += b.Count
		low += b.Count * least(b)
		width += b.Count * (b.Until - least(b))
	}
	place := 0.5 // of each bucket's mean, between its ends
	if width > 0 {
		place = min(max((mean*count-low)/width, 0), 1)
	}
	sum := 0.0
	for i, b := range buckets {
		lowest, highest := least(b), b.Until
		middle := lowest + place*(highest-lowest)
		if place < 0.5 {
			highest = math.Round(2*middle - lowest)
		} else {
			lowest = math.Round(2*middle - highest)
		}
		buckets[i].From, buckets[i].Until = lowest-1, highest
		sum += b.Count * (lowest + highest) / 2
	}
	return sum / count
}
