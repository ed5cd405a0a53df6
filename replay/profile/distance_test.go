package profile

import (
	"math"
	"testing"

	"tidemark/internal/proof/must"
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
		l := must.Get(p.Drawn(Options{Seed: seed, Duration: long, Limit: 10_000}))(t)
		return l
	}
	near, _ := Distances(draw("gtc-multiturn", 1), draw("gtc-multiturn", 2))
	far, _ := Distances(draw("gtc-multiturn", 1), draw("long-requests", 1))
	if near.KS > 0.02 || near.Wasserstein > 0.01 || far.KS < 0.9 {
		t.Errorf("two seeds: %+v; another profile: %+v", near, far)
	}
	t.Logf("two seeds: KS %.4f, Wasserstein %.4f", near.KS, near.Wasserstein)
}

// A few requests drawn from a profile were not the workload of it: 63 of them have KS 0.118 here. By chance they have up to 1.36 / sqrt(63) = 0.171.
func TestFewRequestsMayBeApartByChance(t *testing.T) {
	p, _ := Builtin("gtc-multiturn")
	draw := func(seed uint64, count int64) Lengths {
		l := must.Get(p.Drawn(Options{Seed: seed, Duration: long, Limit: count}))(t)
		return l
	}
	most, _ := ByChance(Lengths{Pairs: []Pair{{100, 1, 63}}}, Lengths{Pairs: []Pair{{100, 1, 1_000_000}}})
	if math.Abs(most.KS-0.171) > 5e-4 || most.Wasserstein != 0 {
		t.Errorf("63 requests of one length: got %+v", most)
	}
	whole, beyond := draw(1, 10_000), 0
	for seed := range uint64(40) {
		few := draw(seed+2, 63)
		_, apart := Distances(few, whole)
		_, chance := ByChance(few, whole)
		if apart.KS > chance.KS || apart.Wasserstein > chance.Wasserstein {
			beyond++
		}
	}
	if beyond > 6 {
		t.Errorf("%d of 40 draws are further apart than chance makes one in 20", beyond)
	}
	if far, _ := Distances(draw(1, 63), Lengths{Pairs: []Pair{{1, 1, 100}}}); far.KS < 0.9 {
		t.Errorf("another workload: %+v", far)
	}
}
