// What all requests of a run share, and nothing that belongs to one of them. Fields are set before the first request is sent
// and then only read, except the atomics and the pools. Exchanges are pooled: an answer of 500 tokens has slices worth
// keeping.

package replay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/replay/secrets"
	"tidemark/replay/wire"
)

const (
	bodyAhead  = 30 * time.Millisecond // before its due time a request gets its bytes
	bodyBudget = 64 << 20              // bytes of bodies that wait for their due time
	doneGrace  = time.Second           // from [DONE] to the end of the body, before the connection is given up
	errorGrace = 5 * time.Second       // for the body of an error
)

// runState is what all requests of a run share.
type runState struct {
	settings     Settings
	router       *router
	availability *availability
	scrub        secrets.Scrubber
	meter        *meter
	journal      *journal
	begin        time.Time       // the run's zero
	abort        context.Context // ended: leave at once
	stop         context.Context // ended: send nothing more
	giveUp       context.CancelCauseFunc
	keepsIDs     bool // answers become part of later prompts
	mayEndEarly  bool // the body lets the model end an answer
	looksOften   bool // the schedule's goroutine looks at its messages every scanEvery, even if nobody wakes it

	prepared    atomic.Int64 // bytes of bodies that wait
	clientLimit atomic.Pointer[string]
	bodies      sync.Pool // *[]byte
	exchanges   sync.Pool // *exchange
	buffers     sync.Pool // *[]byte of readBuffer, for strands
}

// exchange is an empty exchange for a ticket. The pooled one keeps its slices and its callback: made anew for each request, they
// would be most of what the collector has to do in a run.
func (s *runState) exchange(t *ticket) *exchange {
	x, _ := s.exchanges.Get().(*exchange)
	if x == nil {
		x = &exchange{}
		x.onEvent = func(name, data []byte) { x.stream.event(name, data, x.at) }
	}
	x.runState, x.ticket, x.row = s, t, newRow(t.Req)
	x.row.isOther = s.settings.asksOther(t.Req.Class)
	if t.to != nil {
		x.row.endpoint = t.to.name
	}
	x.conn, x.body, x.out, x.answer, x.replica = nil, nil, nil, wire.Head{}, ""
	x.connectErr, x.writeErr, x.end = nil, nil, nil
	x.isPastDue, x.isRetry, x.hasTrailingBytes, x.phase = false, false, false, inHead
	x.start, x.text = x.start[:0], x.text[:0]
	return x
}

// connect makes a connection at the due time, when none could be made before, and counts refusals.
func (s *runState) connect(to *endpoint) (*wire.Conn, error) {
	c, err := to.pool.Connect(s.abort)
	switch {
	case err == nil:
		s.reached(to)
	case wire.IsRefused(err):
		s.refusedBy(to, err)
	case wire.IsClientLimit(err):
		reason := "this machine ran out of descriptors or ports: " + wire.Cause(err)
		s.clientLimit.CompareAndSwap(nil, &reason)
	}
	return c, err
}

// now is the time since the run began.
func (s *runState) now() time.Duration { return time.Since(s.begin) }

// finish writes the row of an exchange that is over.
func (s *runState) finish(x *exchange) {
	x.settle()
	x.ticket.ended()
	s.meter.end(&x.row)
	s.tellOver(&x.row)
	s.journal.add(&x.row)
	x.ticket = nil
	s.exchanges.Put(x)
}
