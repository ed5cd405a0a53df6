package week

import (
	"math"
	"slices"

	"tidemark/analysis"
)

// Lengths of a week on a fine logarithmic scale, so that two weeks can be compared after their requests are gone.
type lengths struct {
	Bins   []lengthBin `json:"bins"` // shortest first
	P50    *float64    `json:"p50"`
	P90    *float64    `json:"p90"`
	P99    *float64    `json:"p99"` // nil below 100 requests
	Counts int64       `json:"requests"`
}

// lengthBin is the 64th part of an octave, which is 1.1 %.
type lengthBin struct {
	Of       int   `json:"of"` // 64 log2 tokens, rounded
	Requests int64 `json:"requests"`
}

const binsPerOctave = 64

// distance compares two distributions of lengths; nil where one of them is empty. KS is the largest difference of the shares below any
// length; Wasserstein the area between the two, over ln tokens: how far the lengths moved on average.
func distance(what string, a, b lengths) *Distance {
	if a.Counts == 0 || b.Counts == 0 {
		return nil
	}
	var at []int
	for _, l := range []lengths{a, b} {
		for _, bin := range l.Bins {
			at = append(at, bin.Of)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	d := Distance{What: what}
	shareA, shareB := cumulated(a), cumulated(b)
	for i, of := range at {
		gap := math.Abs(shareA(of) - shareB(of))
		d.KS = max(d.KS, gap)
		if i+1 < len(at) {
			d.Wasserstein += gap * float64(at[i+1]-of) / binsPerOctave * math.Ln2
		}
	}
	d.IsMoved, d.IsUnknown = analysis.Likeness(d.KS, a.Counts, b.Counts)
	return &d
}

// cumulated is the share of requests up to a bin. It must be asked in rising order.
func cumulated(l lengths) func(of int) float64 {
	next, sum := 0, int64(0)
	return func(of int) float64 {
		for next < len(l.Bins) && l.Bins[next].Of <= of {
			sum += l.Bins[next].Requests
			next++
		}
		return float64(sum) / float64(l.Counts)
	}
}

// quantiles are those of this week beside last week's.
func quantiles(this, before demand) []Quantile {
	all := []Quantile{
		{Name: "p50 input_tokens", This: this.Input.P50, Before: before.Input.P50},
		{Name: "p90 input_tokens", This: this.Input.P90, Before: before.Input.P90},
		{Name: "p99 input_tokens", This: this.Input.P99, Before: before.Input.P99},
		{Name: "p50 output_tokens", This: this.Output.P50, Before: before.Output.P50},
		{Name: "p90 output_tokens", This: this.Output.P90, Before: before.Output.P90},
		{Name: "p99 output_tokens", This: this.Output.P99, Before: before.Output.P99},
	}
	for i, q := range all {
		all[i].Ratio = ratioOf(q.This, q.Before)
	}
	return all
}
