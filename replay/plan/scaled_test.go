package plan

import (
	"reflect"
	"testing"

	"tidemark/internal/proof/must"
)

func TestScaledIsWhatWriteMakes(t *testing.T) {
	requests := traffic(5, 1500)
	for _, choices := range []Choices{
		ScaledBy(0.37, false, 7), ScaledBy(1, false, 7), ScaledBy(2.6, false, 7), ScaledBy(1.7, true, 7),
		{Thicken: 3.2, Seed: 2, Mode: "sessions"}, {Thin: 0.5, Seed: 2, Mode: "sessions"},
	} {
		_, want := planned(t, choices, requests)
		got := must.Get(Scaled(requests, choices))(t)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %d requests, Write makes %d, or they differ", choices, len(got), len(want))
		}
	}
}

// What a search compares at two scales differs only by what the larger adds.
func TestALargerScaleContainsTheSmaller(t *testing.T) {
	requests := traffic(6, 1500)
	type key struct {
		session       string
		turn, in, out int
		due           int64
	}
	had := map[key]int{}
	for _, scale := range []float64{0.1, 0.5, 0.9, 1, 1.3, 2, 2.7, 4.01} {
		got := must.Get(Scaled(requests, ScaledBy(scale, false, 9)))(t)
		now := map[key]int{}
		for _, r := range got {
			now[key{r.Session, r.Turn, r.InputTokens, r.OutputTokens, int64(r.Due)}]++
		}
		for k, n := range had {
			if now[k] < n {
				t.Fatalf("scale %v lacks %+v", scale, k)
			}
		}
		had = now
	}
}
