package regression

import (
	"math"
	"testing"
)

// Quantiles of Student's t as tables print them (95 %, one-sided).
func TestStudentT(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 6.314, 2: 2.920, 4: 2.132, 10: 1.812, 100: 1.660} {
		if got := StudentT95(freedom); math.Abs(got-want) > 1e-3 {
			t.Errorf("StudentT95(%v): got %.4f, want %v", freedom, got, want)
		}
	}
}
