package week

import (
	"math"
	"testing"
)

func TestShareOfMissesAtARate(t *testing.T) {
	curve := []Share{{RatePerS: 10, Missed: 0.01}, {RatePerS: 20, Missed: 0.21}}
	for _, c := range []struct{ rate, missed float64 }{
		{0, 0}, {5, 0.005}, {10, 0.01}, {15, 0.11}, {20, 0.21},
		{25, 1 - 0.79/2}, // half way to a lasting overload
		{30, 1}, {2000, 1},
	} {
		if got := missedAt(curve, c.rate).Missed; math.Abs(got-c.missed) > 1e-12 {
			t.Errorf("at %g/s: %g miss, want %g", c.rate, got, c.missed)
		}
	}
}
