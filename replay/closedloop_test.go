package replay

import (
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/replay/plan"
)

// A closed loop is judged by what it kept in flight: answers that end together make some requests late, however
// quick the client is.
func TestAClosedLoopIsJudgedByWhatItKept(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name       string
		slots      int
		turns      []slotUse
		kept, late float64
		isValid    bool
	}{
		// Two rounds of 4 s; in the second each is 20 ms later than the one before. From 0 to 4.06 s the four slots were in
		// flight for 4 * 4 s, and in the last 60 ms for 60 + 40 + 20 ms more; they waited for 20 + 40 + 60 ms.
		{"answers that end together", 4, rounds(4, 2, 4*time.Second, 20*ms), (16 + 0.12) / (4 * 4.06), 0.12 / (4 * 4.06), true},
		{"a client that is too slow", 4, rounds(4, 2, 100*ms, 20*ms), (0.4 + 0.12) / (4 * 0.16), 0.12 / (4 * 0.16), false},
		// The second turn comes due 2 s after the first ended: nobody was late.
		{"a plan that leaves slots empty", 1, []slotUse{{0, 0, time.Second}, {3 * time.Second, 3 * time.Second, 4 * time.Second}}, 1. / 3, 0, true},
		{"no slot used twice", 4, rounds(4, 1, time.Second, 20*ms), 0, 0, true},
	} {
		j := newJournal(nil, c.slots)
		for _, at := range c.turns {
			r := newRow(plan.Request{Due: at.due})
			r.sent, r.done = at.sent, at.done
			j.outcome.add(&r)
		}
		result := j.outcome.finish(int64(len(c.turns)), limits{10 * ms, 250 * ms}, observed{}, nil)
		kept, late := 0., 0.
		if result.ClosedLoop != nil {
			kept, late = result.ClosedLoop.KeptRatio, result.ClosedLoop.LateRatio
		}
		if math.Abs(kept-c.kept) > 1e-9 || math.Abs(late-c.late) > 1e-9 || result.IsValid != c.isValid {
			t.Errorf("%s: kept %v, want %v; lost %v, want %v; %q", c.name, kept, c.kept, late, c.late, result.InvalidReason)
		}
		if !c.isValid && !strings.HasPrefix(result.InvalidReason, "the closed loop kept 3.25 of 4 in flight, 81.2 %, and not 99 %") {
			t.Errorf("%s: %s", c.name, result.InvalidReason)
		}
	}
}

// rounds are turns that end together; from the second round on, each is filled so much later than the one before, the
// first at once.
func rounds(slots, n int, lasts, step time.Duration) (turns []slotUse) {
	free := time.Duration(0)
	for round := range n {
		end := free + lasts
		for slot := range slots {
			sent := free
			if round > 0 {
				sent += time.Duration(slot) * step
			}
			turns = append(turns, slotUse{free, sent, end})
		}
		free = end
	}
	return turns
}
