package heap

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// What is taken is the least of what is there, whatever was added, replaced and taken before.
func TestTheFirstIsTheLeast(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	h, there := New(cmp.Less[int]), []int{}
	for range 5_000 {
		x := rnd.IntN(100) // some are equal
		switch what := rnd.IntN(5); {
		case what < 2 && len(there) > 0:
			if got := h.Take(); got != there[0] {
				t.Fatalf("took %d of %v", got, there)
			}
			there = there[1:]
		case what == 2 && len(there) > 0:
			h.Replace(x)
			there[0] = x
		default:
			h.Add(x)
			there = append(there, x)
		}
		slices.Sort(there)
		if h.Len() != len(there) || len(there) > 0 && h.First() != there[0] {
			t.Fatalf("%d values of %v", h.Len(), there)
		}
	}
	if all := slices.Sorted(slices.Values(h.All())); !slices.Equal(all, there) {
		t.Errorf("%v, want %v", all, there)
	}
	if h.Clear(); h.Len() != 0 {
		t.Error("cleared, and something is left")
	}
}
