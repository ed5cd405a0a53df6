// The schedule decides when each request goes out, and asks no clock: it is told what was read and what has ended, so a test
// can replay any run in virtual time. Two heaps hold the requests that wait: by when they may be sent (waiting), and those
// of them that nobody has begun to prepare (unprepared). Modes differ in three points: what orders the heaps, whether a turn
// waits for the turn before it, and whether slots limit what is in flight.
//
// Open loop: due times are the plan's own, and nothing the server does moves them. Under a cap, a request that has to wait
// for a slot is held; that wait is kept apart from lateness, which is the client's fault. Closed loop: a request is due when
// a slot becomes free, so there is no coordinated omission to correct, and no rate that was promised.

package replay

import (
	"cmp"
	"container/heap"
	"math"
	"sync/atomic"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// Modes of Settings.Mode.
const (
	modeOpen     = "open"
	modeSessions = "sessions"
	modeClosed   = "closed"
)

const (
	connectAhead = 500 * time.Millisecond // before its due time a request gets its connection
	maxAhead     = 4096                   // requests prepared ahead of their due time, whatever the rate
	capAhead     = 64                     // and where a cap holds them back: enough for the slots that come free at once
	maxParked    = 1 << 16                // turns of a closed loop that wait for the turn before
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// ticket is a request on its way from the plan to its end.
type ticket struct {
	req  plan.Request
	to   *endpoint
	x    *exchange     // nil until it is prepared
	due  time.Duration // when it really is due: the plan's own only in an open loop
	held time.Duration // wait for a slot
	done time.Duration // when it ended
	ids  []int32       // what it was answered, where that is kept

	place       int64         // in the plan
	next        *ticket       // the turn after it, when that waits for this one
	answers     []plan.Answer // what earlier turns were answered, where the prompt repeats it
	session     uint64
	isChained   bool
	isLast      bool        // of its session
	isPreparing bool        // to be prepared
	isReleased  bool        // to be sent
	isReady     bool        // its connection and its bytes are there
	isWanted    atomic.Bool // it was released before it was ready
}

// schedule says when each request of a plan goes out. It is told what was read from the plan and what has ended, and
// asks no clock: the same calls give the same answers.
type schedule struct {
	isClosed  bool
	isChained bool // a turn waits for the turn before
	limit     int  // requests in flight; 0: none
	keepsIDs  bool // later turns repeat what was answered

	places     int64
	waiting    tickets // their due time is known, and not yet come
	unprepared tickets // of these, the ones that nobody has prepared
	ahead      int     // prepared, or being so, and not yet sent
	parked     int     // they wait for the turn before
	inFlight   int
	free       instants // slots, by when they became free
	sessions   map[uint64]sessionState
}

// newSchedule is the schedule of a mode; a limit of 0 is none.
func newSchedule(mode string, limit int, keepsIDs bool) *schedule {
	if mode == modeClosed {
		limit = max(limit, 1)
	}
	s := &schedule{isClosed: mode == modeClosed, isChained: mode != modeOpen, limit: limit, sessions: map[uint64]sessionState{}}
	s.keepsIDs = keepsIDs && s.isChained
	s.waiting.before, s.unprepared.before = byDue, byDue
	if s.isClosed {
		s.waiting.before, s.unprepared.before = inPlanOrder, inPlanOrder
	}
	for range limit {
		s.free.push(0)
	}
	return s
}

func byDue(a, b *ticket) bool {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.place, b.place)) < 0
}

func inPlanOrder(a, b *ticket) bool { return a.place < b.place }

// add takes the next request of the plan.
func (s *schedule) add(t *ticket) {
	t.place = s.places
	s.places++
	if !s.isClosed {
		t.due = t.req.Due
	}
	if s.isChained && t.req.Session != "" {
		t.session, t.isChained = splitmix.Hash(t.req.Session), true
		if !s.follow(t) {
			return
		}
	}
	s.enqueue(t)
}

// enqueue puts a ticket in line whose due time is known.
func (s *schedule) enqueue(t *ticket) {
	heap.Push(&s.waiting, t)
	heap.Push(&s.unprepared, t)
}

// room is how many more requests of the plan are of use now.
func (s *schedule) room() int {
	switch {
	case s.isClosed && s.parked >= maxParked:
		return 0
	case s.isClosed:
		return s.free.len() + capAhead - s.waiting.Len()
	case s.isChained: // one that has to wait must not keep back a turn of another session
		return maxAhead
	}
	return maxAhead - s.waiting.Len()
}

// prepare is the next request to be made ready, nil when there is none yet.
func (s *schedule) prepare(now time.Duration) *ticket {
	t := s.nextUnprepared()
	if t == nil || !s.isClosed && t.due-connectAhead > now {
		return nil
	}
	heap.Pop(&s.unprepared)
	s.startPreparing(t)
	return t
}

// startPreparing takes a request off those that nobody prepares; it counts as ahead until it is released.
func (s *schedule) startPreparing(t *ticket) {
	t.isPreparing = true
	s.ahead++
}

// nextUnprepared limits how many are prepared ahead: under a cap only as many as may find a slot at once.
func (s *schedule) nextUnprepared() *ticket {
	for s.unprepared.Len() > 0 && s.unprepared.list[0].isPreparing {
		heap.Pop(&s.unprepared)
	}
	most := maxAhead
	if s.limit > 0 {
		most = s.free.len() + capAhead
	}
	if s.unprepared.Len() == 0 || s.ahead >= most {
		return nil
	}
	return s.unprepared.list[0]
}

// release is the next request to be sent now, nil when there is none yet: its due time has come, and it has its slot.
func (s *schedule) release(now time.Duration) *ticket {
	if s.nextRelease() > now {
		return nil
	}
	t := heap.Pop(&s.waiting).(*ticket)
	if s.limit > 0 {
		slot := s.free.pop()
		if s.isClosed {
			t.due = max(t.due, slot)
		} else {
			t.held = max(slot-t.due, 0)
		}
	}
	if !t.isPreparing {
		s.startPreparing(t)
	}
	t.isReleased = true
	s.ahead--
	s.inFlight++
	return t
}

// nextRelease is never while all slots are taken: an ended request wakes the driver then.
func (s *schedule) nextRelease() time.Duration {
	switch {
	case s.waiting.Len() == 0 || s.limit > 0 && s.free.len() == 0:
		return never
	case s.isClosed:
		return s.free.first()
	}
	return s.waiting.list[0].due
}

// wake is when prepare or release has something without anything else having happened.
func (s *schedule) wake() time.Duration {
	at := s.nextRelease()
	if t := s.nextUnprepared(); t != nil {
		if s.isClosed {
			return min(at, 0)
		}
		at = min(at, t.due-connectAhead)
	}
	return at
}

// complete takes note that a released request is over, at the instant that its row says.
func (s *schedule) complete(t *ticket, at time.Duration, ids []int32) {
	s.inFlight--
	if s.limit > 0 {
		s.free.push(at)
	}
	if t.isChained {
		s.turnEnded(t, at, ids)
	}
}

// isEmpty says that nothing that was added waits to be sent.
func (s *schedule) isEmpty() bool { return s.waiting.Len() == 0 && s.parked == 0 }

// drop forgets all that was not sent and returns what was prepared of it.
func (s *schedule) drop() (prepared []*ticket) {
	for _, t := range s.waiting.list {
		if t.isPreparing {
			prepared = append(prepared, t)
		}
	}
	s.waiting.list, s.unprepared.list, s.parked, s.sessions = nil, nil, 0, map[uint64]sessionState{}
	return prepared
}

// tickets are a heap.
type tickets struct {
	list   []*ticket
	before func(a, b *ticket) bool
}

func (h *tickets) Len() int           { return len(h.list) }
func (h *tickets) Less(i, j int) bool { return h.before(h.list[i], h.list[j]) }
func (h *tickets) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *tickets) Push(t any)         { h.list = append(h.list, t.(*ticket)) }

func (h *tickets) Pop() any {
	last := len(h.list) - 1
	t := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return t
}

// instants are a queue.
type instants struct {
	list []time.Duration
	gone int // at its head
}

func (q *instants) len() int             { return len(q.list) - q.gone }
func (q *instants) first() time.Duration { return q.list[q.gone] }
func (q *instants) push(at time.Duration) {
	q.list = append(q.list, at)
}

func (q *instants) pop() time.Duration {
	at := q.list[q.gone]
	if q.gone++; q.gone*2 > len(q.list) {
		q.list = q.list[:copy(q.list, q.list[q.gone:])]
		q.gone = 0
	}
	return at
}
