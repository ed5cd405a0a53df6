package fleet

import "testing"

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
