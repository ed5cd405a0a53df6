package heap

import (
	"container/heap"
	"math/rand/v2"
	"testing"
)

// value is one of many with the same rank; number tells them apart.
type value struct{ rank, number int }

// standard is the heap of the standard library.
type standard []value

func (s standard) Len() int           { return len(s) }
func (s standard) Less(i, j int) bool { return s[i].rank < s[j].rank }
func (s standard) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *standard) Push(x any)        { *s = append(*s, x.(value)) }
func (s *standard) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// Values come out as they do of container/heap, equal ones too: plans that were drawn with that stay the same.
func TestAHeapIsThatOfTheStandardLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	h, want := New(func(a, b value) bool { return a.rank < b.rank }), &standard{}
	for n := range 5_000 {
		x := value{rnd.IntN(100), n}
		switch what := rnd.IntN(5); {
		case what < 2 && want.Len() > 0:
			if got, want := h.Take(), heap.Pop(want).(value); got != want {
				t.Fatalf("took %v, want %v", got, want)
			}
		case what == 2 && want.Len() > 0:
			h.Replace(x)
			(*want)[0] = x
			heap.Fix(want, 0)
		default:
			h.Add(x)
			heap.Push(want, x)
		}
		if h.Len() != want.Len() || h.Len() > 0 && h.First() != (*want)[0] {
			t.Fatalf("%d values of %d, or another first one", h.Len(), want.Len())
		}
	}
	if h.Clear(); h.Len() != 0 {
		t.Error("cleared, and something is left")
	}
}
