package profile

import (
	"math"
	"testing"
)

func TestDistances(t *testing.T) {
	of := func(pairs ...Pair) Lengths { return Lengths{Pairs: pairs} }
	for _, test := range []struct {
		why    string
		a, b   Lengths
		ks, w1 float64
	}{
		{"the same, counted otherwise", of(Pair{100, 1, 1}, Pair{200, 1, 1}), of(Pair{200, 1, 5}, Pair{100, 1, 5}), 0, 0},
		{"all twice as long: ln 2", of(Pair{100, 1, 3}, Pair{300, 1, 3}), of(Pair{200, 1, 1}, Pair{600, 1, 1}), 0.5, math.Ln2},
		{"nothing in common", of(Pair{100, 1, 3}), of(Pair{1000, 1, 1}), 1, math.Log(10)},
		{"a tenth is ten times as long: a tenth of ln 10", of(Pair{100, 1, 10}), of(Pair{100, 1, 9}, Pair{1000, 1, 1}), 0.1, math.Log(10) / 10},
	} {
		for _, swapped := range []bool{false, true} {
			a, b := test.a, test.b
			if swapped {
				a, b = b, a
			}
			input, output := Distances(a, b)
			if math.Abs(input.KS-test.ks) > 1e-12 || math.Abs(input.Wasserstein-test.w1) > 1e-12 || output != (Distance{}) {
				t.Errorf("%s: got %+v, %+v; want %v, %v", test.why, input, output, test.ks, test.w1)
			}
		}
	}
}

// Two seeds of a profile are hardly apart; a profile that is not the workload is.
func TestSeedsAreCloseAndProfilesAreNot(t *testing.T) {
	draw := func(name string, seed uint64) Lengths {
		p, _ := Builtin(name)
		l, err := p.Drawn(Options{Seed: seed, Duration: long, Limit: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	near, _ := Distances(draw("gtc-multiturn", 1), draw("gtc-multiturn", 2))
	far, _ := Distances(draw("gtc-multiturn", 1), draw("long-requests", 1))
	if near.KS > 0.02 || near.Wasserstein > 0.01 || far.KS < 0.9 {
		t.Errorf("two seeds: %+v; another profile: %+v", near, far)
	}
	t.Logf("two seeds: KS %.4f, Wasserstein %.4f", near.KS, near.Wasserstein)
}
