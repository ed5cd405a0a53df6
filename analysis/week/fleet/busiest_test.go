package fleet

import (
	"math"
	"testing"
)

// An hour that no number of replicas is enough for is the busiest; one whose requests all failed, so that nobody knows its need, is not, unless there
// is no other.
func TestTheBusiestHourIsOneWhoseNeedIsKnown(t *testing.T) {
	two, three := 2, 3
	known, more := Need{Needed: &two}, Need{Needed: &three, RehearsedAs: 1}
	failed, impossible := Need{RehearsedAs: -1}, Need{RehearsedAs: 3, isImpossible: true}
	for want, needs := range map[int][]Need{1: {known, more, failed}, 0: {known, failed}, 2: {known, more, impossible, failed}} {
		hours := make([]Hour, len(needs))
		for i := range hours {
			hours[i].PeakPerS = 1
		}
		if got := busiest(hours, needs); got != want {
			t.Errorf("hour %d of %+v is the busiest, want %d", got, needs, want)
		}
	}
	if got := busiest([]Hour{{PeakPerS: 1}}, []Need{failed}); got != 0 {
		t.Errorf("hour %d is the busiest, want the only one", got)
	}
}

// The page said 7.0 % of headroom of Tuesday at 11, while Friday at 15, with fewer requests and longer ones, has 6.2 %: 6 replicas in both.
func TestTheBusiestHourHasTheLeastHeadroom(t *testing.T) {
	hours := []Hour{{PeakPerS: 40, Paid: 6}, {PeakPerS: 36, Paid: 6}}
	a := Answer{Hours: []Need{{fleets: alike, Needed: new(6), PerS: new(7.2), LowPerS: new(40 * 1.07 / 6)}, {fleets: alike, Needed: new(6), PerS: new(6.5), LowPerS: new(36 * 1.062 / 6)}}}
	a.Busiest = busiest(hours, a.Hours)
	a.headroom(hours)
	if a.Busiest != 1 || math.Abs(*a.Low-0.062) > 1e-9 {
		t.Errorf("got hour %d with %v", a.Busiest, *a.Low)
	}
}
