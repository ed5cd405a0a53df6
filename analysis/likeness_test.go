package analysis

import "testing"

func TestLikenessTakesAccountOfHowManyThereAre(t *testing.T) {
	for _, c := range []struct {
		ks                 float64
		n, m               int64
		isMoved, isUnknown bool
	}{
		{0.09, 10, 10, false, false},          // near, however few
		{0.22, 23, 100_000, false, true},      // 1.36 / sqrt(23) = 0.28
		{0.30, 23, 100_000, true, false},      //
		{0.101, 10_000, 10_000, true, false},  // 0.019
		{0.11, 300, 1_000_000, true, false},   // 0.079
		{0.11, 100, 1_000_000_0, false, true}, // 0.136
	} {
		if moved, unknown := Likeness(c.ks, c.n, c.m); moved != c.isMoved || unknown != c.isUnknown {
			t.Errorf("%v: %v, %v", c, moved, unknown)
		}
	}
}
