package stat_test

import (
	"math"
	"testing"

	"tidemark/internal/stat"
)

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		what   string
		sorted []float64
		share  float64
		want   float64
	}{
		{"the median of two lies between them", []float64{1, 2}, 0.5, 1.5},
		{"0.9 of five lies at 3.6: six tenths from the fourth to the fifth", []float64{1, 2, 3, 4, 9}, 0.9, 7},
		{"a share that falls on a value gives it", []float64{1, 2, 4, 8, 16}, 0.75, 8},
		{"one value is each of its quantiles", []float64{7}, 0.99, 7},
		{"0 is the least", []float64{3, 5}, 0, 3},
		{"1 is the largest", []float64{3, 5}, 1, 5},
		{"a share below 0 is read as 0", []float64{3, 5}, -0.2, 3},
		{"a share above 1 is read as 1", []float64{3, 5}, 1.2, 5},
		{"no values have no quantile", nil, 0.5, math.NaN()},
		{"NaN is no share", []float64{3, 5}, math.NaN(), math.NaN()},
		{"beside an infinite value a finite one stands alone", []float64{3, 5, math.Inf(1)}, 0.25, 4},
	} {
		if got := stat.Quantile(test.sorted, test.share); !same(got, test.want) {
			t.Errorf("%s: Quantile(%v, %v): got %v, want %v", test.what, test.sorted, test.share, got, test.want)
		}
	}
}

func TestMedianAndMean(t *testing.T) {
	for _, test := range []struct {
		what         string
		sorted       []float64
		median, mean float64
	}{
		{"an odd number has a value in the middle", []float64{1, 2, 9}, 2, 4},
		{"an even number has two", []float64{1, 2, 4, 9}, 3, 4},
		{"no values have neither", nil, math.NaN(), math.NaN()},
	} {
		if got := stat.Median(test.sorted); !same(got, test.median) {
			t.Errorf("%s: Median(%v): got %v, want %v", test.what, test.sorted, got, test.median)
		}
		if got := stat.Mean(test.sorted); !same(got, test.mean) {
			t.Errorf("%s: Mean(%v): got %v, want %v", test.what, test.sorted, got, test.mean)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		what string
		a, b []int
		want float64
	}{
		{"the same sample", []int{1, 2, 2, 3}, []int{1, 2, 2, 3}, 0},
		{"at 1 one has half of its values and the other none", []int{1, 1, 5, 5}, []int{5, 5}, 0.5},
		{"no value in common", []int{1, 2}, []int{3}, 1},
		{"one is empty", []int{1}, nil, 0},
	} {
		if got := stat.Distance(test.a, test.b); got != test.want {
			t.Errorf("%s: got %v, want %v", test.what, got, test.want)
		}
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
