package model

import (
	"testing"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
)

// Nobody is advised to ask what was just asked.
func TestTheBusiestScaleIsAdvisedOnce(t *testing.T) {
	for _, test := range []struct {
		scales []float64
		want   string
	}{
		{[]float64{1}, " All above is of the mean: ask again with --scale 1.41."},
		{[]float64{1, 1.2}, " All above is of the mean: ask again with --scale 1.41."},
		{[]float64{1.41}, " All above is of 1.41 times the mean."},
		{[]float64{2}, " All above is of 2.00 times the mean."},
		{[]float64{1, 1.41}, ""},
	} {
		var rows []whatIfRow
		for _, scale := range test.scales {
			rows = append(rows, whatIfRow{Scenario: analysis.Scenario{Scale: scale}})
		}
		if got := busiestAdvice(rows, queueing.Busiest{RateRatio: 1.4149, LengthS: 60}); got != test.want {
			t.Errorf("--scale %v: got %q, want %q", test.scales, got, test.want)
		}
	}
}
