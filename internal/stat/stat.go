// Package stat is the statistics of a sample: its sums and mean, its quantiles, and how far two samples are apart. A sample has no NaN:
// slices.Sort would put it first, and what comes out then is the quantile of another sample. Infinite values are allowed, but a quantile
// between two of them is NaN.
package stat

import "math"

// Quantile interpolates linearly between the two nearest of the sorted values (type 7 of Hyndman and Fan 1996), as DuckDB's
// quantile_cont does, so that Go and SQL say the same number. A share below 0 is read as 0 and one above 1 as 1. No values, or NaN for a
// share, give NaN.
func Quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 || math.IsNaN(share) {
		return math.NaN()
	}
	at := max(0, min(1, share)) * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Median is the value in the middle of the sorted values, or the mean of the two there; NaN of no values. It is Quantile at 0.5, except for
// the last digit of a float64: (a + b) / 2 is exact where a + (b - a) / 2 may be rounded twice.
func Median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Sum adds in the order of the values.
func Sum(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// Dot is the sum of the products of two lists of the same length.
func Dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Mean of no values is NaN.
func Mean(values []float64) float64 { return Sum(values) / float64(len(values)) }

// Distance is the largest difference between the distribution functions of two sorted samples (Kolmogorov and Smirnov), from 0 to 1; 0
// where one of them is empty.
func Distance(a, b []int) (most float64) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		v := min(a[i], b[j])
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		most = max(most, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return most
}
