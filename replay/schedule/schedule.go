// Package schedule decides when each request of a plan goes out. It asks no clock: it is told what was read and what has
// ended, so that a load engine can follow it in real time and a rehearsal in virtual time, by the same rules.
//
// schedule.go has two heaps of the requests that wait: by when they may be sent (waiting), and those of them that nobody has
// begun to prepare (unprepared). session.go lets turns of a session follow each other. Modes differ in three points: what
// orders the heaps, whether a turn waits for the turn before it, and whether slots limit what is in flight.
//
// Open loop: due times are the plan's own, and nothing the server does moves them. Under a cap, a request that has to wait
// for a slot is held; that wait is kept apart from lateness, which is the client's fault. Closed loop: a request is due when
// a slot becomes free, so there is no coordinated omission to correct, and no rate that was promised.
//
// It refuses to know servers and connections: who drives it hangs its own part of a request on Ticket.Owner.
package schedule

import (
	"cmp"
	"math"
	"time"

	"tidemark/internal/heap"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// The modes.
const (
	Open     = "open"
	Sessions = "sessions"
	Closed   = "closed"
)

// How far ahead of its due time a request is made ready, and how many.
const (
	ConnectAhead = 500 * time.Millisecond // before its due time a request gets its connection
	MaxAhead     = 4096                   // requests prepared ahead of their due time, whatever the rate
	capAhead     = 64                     // and where a cap holds them back: enough for the slots that come free at once
	maxParked    = 1 << 16                // turns of a closed loop that wait for the turn before
)

// Never is an instant that does not come.
const Never = time.Duration(math.MaxInt64)

// Ticket is a request on its way from the plan to its end.
type Ticket struct {
	Req     plan.Request
	Owner   any           // what the driver knows of it
	Due     time.Duration // when it really is due: the plan's own only in an open loop
	Held    time.Duration // wait for a slot
	Answers []plan.Answer // what earlier turns were answered, where the prompt repeats it
	IsLast  bool          // of its session

	IsReleased bool // to be sent

	place       int64   // in the plan
	next        *Ticket // the turn after it, when that waits for this one
	session     uint64
	isChained   bool
	isPreparing bool // to be prepared
}

// Schedule says when each request of a plan goes out. It is told what was read from the plan and what has ended, and
// asks no clock: the same calls give the same answers.
type Schedule struct {
	IsClosed bool
	KeepsIDs bool // later turns repeat what was answered

	isChained bool // a turn waits for the turn before
	limit     int  // requests in flight; 0: none

	places     int64
	waiting    heap.Heap[*Ticket] // their due time is known, and not yet come
	unprepared heap.Heap[*Ticket] // of these, the ones that nobody has prepared
	ahead      int                // prepared, or being so, and not yet sent
	parked     int                // they wait for the turn before
	free       instants           // slots, by when they became free
	sessions   map[uint64]sessionState
}

// New is the schedule of a mode; a limit of 0 is none.
func New(mode string, limit int, keepsIDs bool) *Schedule {
	if mode == Closed {
		limit = max(limit, 1)
	}
	s := &Schedule{IsClosed: mode == Closed, isChained: mode != Open, limit: limit, sessions: map[uint64]sessionState{}}
	s.KeepsIDs = keepsIDs && s.isChained
	s.waiting, s.unprepared = heap.New(byDue), heap.New(byDue)
	if s.IsClosed {
		s.waiting, s.unprepared = heap.New(inPlanOrder), heap.New(inPlanOrder)
	}
	for range limit {
		s.free.push(0)
	}
	return s
}

func byDue(a, b *Ticket) bool {
	return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.place, b.place)) < 0
}

func inPlanOrder(a, b *Ticket) bool { return a.place < b.place }

// Add takes the next request of the plan.
func (s *Schedule) Add(t *Ticket) {
	t.place = s.places
	s.places++
	if !s.IsClosed {
		t.Due = t.Req.Due
	}
	if s.isChained && t.Req.Session != "" {
		t.session, t.isChained = splitmix.Hash(t.Req.Session), true
		if !s.follow(t) {
			return
		}
	}
	s.enqueue(t)
}

// enqueue puts a ticket in line whose due time is known.
func (s *Schedule) enqueue(t *Ticket) {
	s.waiting.Add(t)
	s.unprepared.Add(t)
}

// Room is how many more requests of the plan are of use now.
func (s *Schedule) Room() int {
	switch {
	case s.IsClosed && s.parked >= maxParked:
		return 0
	case s.IsClosed:
		return s.free.len() + capAhead - s.waiting.Len()
	case s.isChained: // one that has to wait must not keep back a turn of another session
		return MaxAhead
	}
	return MaxAhead - s.waiting.Len()
}

// Prepare is the next request to be made ready, nil when there is none yet.
func (s *Schedule) Prepare(now time.Duration) *Ticket {
	t := s.nextUnprepared()
	if t == nil || !s.IsClosed && t.Due-ConnectAhead > now {
		return nil
	}
	s.unprepared.Take()
	s.startPreparing(t)
	return t
}

// startPreparing takes a request off those that nobody prepares; it counts as ahead until it is released.
func (s *Schedule) startPreparing(t *Ticket) {
	t.isPreparing = true
	s.ahead++
}

// nextUnprepared limits how many are prepared ahead: under a cap only as many as may find a slot at once.
func (s *Schedule) nextUnprepared() *Ticket {
	for s.unprepared.Len() > 0 && s.unprepared.First().isPreparing {
		s.unprepared.Take()
	}
	most := MaxAhead
	if s.limit > 0 {
		most = s.free.len() + capAhead
	}
	if s.unprepared.Len() == 0 || s.ahead >= most {
		return nil
	}
	return s.unprepared.First()
}

// Release is the next request to be sent now, nil when there is none yet: its due time has come, and it has its slot.
func (s *Schedule) Release(now time.Duration) *Ticket {
	if s.NextRelease() > now {
		return nil
	}
	t := s.waiting.Take()
	if s.limit > 0 {
		slot := s.free.pop()
		if s.IsClosed {
			t.Due = max(t.Due, slot)
		} else {
			t.Held = max(slot-t.Due, 0)
		}
	}
	if !t.isPreparing {
		s.startPreparing(t)
	}
	t.IsReleased = true
	s.ahead--
	return t
}

// NextRelease is Never while all slots are taken: an ended request wakes the driver then.
func (s *Schedule) NextRelease() time.Duration {
	switch {
	case s.waiting.Len() == 0 || s.limit > 0 && s.free.len() == 0:
		return Never
	case s.IsClosed:
		return s.free.first()
	}
	return s.waiting.First().Due
}

// Wake is when Prepare or Release has something without anything else having happened.
func (s *Schedule) Wake() time.Duration {
	at := s.NextRelease()
	if t := s.nextUnprepared(); t != nil {
		if s.IsClosed {
			return min(at, 0)
		}
		at = min(at, t.Due-ConnectAhead)
	}
	return at
}

// Complete takes note that a released request is over, at the instant that its row says.
func (s *Schedule) Complete(t *Ticket, at time.Duration, ids []int32) {
	if s.limit > 0 {
		s.free.push(at)
	}
	if t.isChained {
		s.turnEnded(t, at, ids)
	}
}

// IsEmpty says that nothing that was added waits to be sent.
func (s *Schedule) IsEmpty() bool { return s.waiting.Len() == 0 && s.parked == 0 }

// Drop forgets all that was not sent and returns what was prepared of it.
func (s *Schedule) Drop() (prepared []*Ticket) {
	for _, t := range s.waiting.All() {
		if t.isPreparing {
			prepared = append(prepared, t)
		}
	}
	s.waiting.Clear()
	s.unprepared.Clear()
	s.parked, s.sessions = 0, map[uint64]sessionState{}
	return prepared
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
