// The plan's reader runs ahead of the schedule, but not far: a request is read somewhat before it is due, and only while the
// schedule has room, so that a plan of a million requests needs the memory of a few thousand. posted, taken and allowed are
// a credit scheme: the dispatcher allows, the reader posts at most so many, and neither waits for the other with a lock.

package replay

import (
	"iter"
	"sync/atomic"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

const (
	readAhead = schedule.ConnectAhead + 100*time.Millisecond // before its due time a request is read from the plan
	quietRead = schedule.ConnectAhead + 2*scanEvery          // one that is read this early can wait for the next look
)

// reader takes the requests out of the plan's file, each somewhat before it is due, as far as the schedule has room.
type reader struct {
	*dispatcher
	next  func() (plan.Request, error, bool)
	close func()
	turns map[uint64]int32 // still to be read of each session; nil: of no interest

	posted  int64        // belongs to the reader
	taken   int64        // of these, what the schedule has; belongs to the schedule's goroutine
	allowed atomic.Int64 // as far as posted may go
	more    chan struct{}
}

func newReader(d *dispatcher, requests iter.Seq2[plan.Request, error]) *reader {
	r := &reader{dispatcher: d, more: make(chan struct{}, 1)}
	if d.schedule.KeepsIDs {
		r.turns = turnsOf(requests)
	}
	r.next, r.close = iter.Pull2(requests)
	return r
}

// turnsOf counts the turns of each session, so that what was said in one can be forgotten after the last.
func turnsOf(requests iter.Seq2[plan.Request, error]) map[uint64]int32 {
	turns := map[uint64]int32{}
	for req, err := range requests {
		if err != nil { // it comes again when the plan is sent
			break
		}
		turns[splitmix.Hash(req.Session)]++
	}
	return turns
}

// ticket is the next request, nil after the last one.
func (r *reader) ticket() *ticket {
	req, err, isThere := r.next()
	if err != nil {
		r.giveUp(err)
		return nil
	}
	if !isThere {
		return nil
	}
	t := newTicket(req, r.router.pick(req))
	if r.turns != nil {
		key := splitmix.Hash(req.Session)
		r.turns[key]--
		t.IsLast = r.turns[key] == 0
	}
	return t
}

// read posts all requests and then says that there are no more.
func (r *reader) read() {
	defer r.inbox.post(message{isPlanOver, nil}, nil)
	for r.mayGoOn() {
		t := r.ticket()
		if t == nil {
			return
		}
		isTimed := !r.schedule.IsClosed
		if isTimed && !host.TimerSleep(r.stop, time.Until(r.begin.Add(t.Req.Due-readAhead))) {
			return
		}
		r.posted++
		r.inbox.post(message{isPlanned, t}, func() bool { return isTimed && r.looksOften && t.Req.Due-r.now() > quietRead })
	}
}

// mayGoOn waits until the schedule has room; false when the run stops.
func (r *reader) mayGoOn() bool {
	for r.posted >= r.allowed.Load() {
		select {
		case <-r.more:
		case <-r.stop.Done():
			return false
		}
	}
	return r.stop.Err() == nil
}

// allow lets the reader go on by so many requests.
func (r *reader) allow(room int) {
	if far := r.taken + int64(room); far > r.allowed.Load() {
		r.allowed.Store(far)
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
}
