package replay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connectAhead = 500 * time.Millisecond // before its due time a request gets its connection
	bodyAhead    = 30 * time.Millisecond  // and then its bytes
	bodyBudget   = 64 << 20               // bytes of bodies that wait for their due time
	doneGrace    = time.Second            // from [DONE] to the end of the body, before the connection is given up
	refusedLimit = 3                      // refused connections in a row: the server has gone
)

// sender is what all requests of a run share.
type sender struct {
	settings Settings
	pool     *pool
	writer   *writer
	scrub    scrubber
	meter    *meter
	journal  *journal
	begin    time.Time       // the run's zero
	abort    context.Context // ended: leave at once
	stop     context.Context // ended: send nothing more
	giveUp   context.CancelCauseFunc

	prepared    atomic.Int64 // bytes of bodies that wait
	refused     atomic.Int64 // connections refused in a row
	clientLimit atomic.Pointer[string]
	bodies      sync.Pool // *[]byte
	exchanges   sync.Pool // *exchange
}

// ticket is a request's place at the gate.
type ticket struct {
	due  time.Duration
	open chan struct{} // closed at the due time
}

// send takes one request from half a second before its due time to its row. It runs on a goroutine of its own, so
// nothing in it holds up another request.
func (s *sender) send(req Request, t ticket, shut <-chan struct{}) {
	x := s.exchange(req)
	defer s.exchanges.Put(x)
	if x.conn, _ = s.pool.take(s.stop); x.conn != nil { // an error shows again at the due time, when it counts
		s.refused.Store(0)
	}
	x.prepare(t, shut)
	if !admitted(t, shut) || x.conn == nil && s.stop.Err() != nil {
		x.withdraw()
		return
	}
	x.run()
	s.meter.end(&x.row)
	s.journal.add(&x.row)
}

// admitted waits for the due time; false when the run stops before it.
func admitted(t ticket, shut <-chan struct{}) bool {
	select {
	case <-t.open:
		return true
	default:
	}
	select {
	case <-t.open:
		return true
	case <-shut:
		return false
	}
}

func (s *sender) exchange(req Request) *exchange {
	x, _ := s.exchanges.Get().(*exchange)
	if x == nil {
		x = &exchange{}
	}
	x.sender, x.row, x.conn, x.body, x.out = s, newRow(req), nil, nil, nil
	x.row.isWarmUp = req.Due < s.settings.WarmUp
	return x
}

// connect makes a connection at the due time, when none could be made before, and counts refusals.
func (s *sender) connect() (*conn, error) {
	c, err := s.pool.connect(s.abort)
	switch {
	case err == nil:
		s.refused.Store(0)
	case isRefused(err):
		if s.refused.Add(1) == refusedLimit {
			s.giveUp(fmt.Errorf("the server at %s has gone: %d connections in a row were refused, the last with: %s",
				s.pool.address, refusedLimit, cause(err)))
		}
	case isClientLimit(err):
		reason := "this machine ran out of descriptors or ports: " + cause(err)
		s.clientLimit.CompareAndSwap(nil, &reason)
	}
	return c, err
}

func (s *sender) since(t time.Time) time.Duration {
	if t.IsZero() {
		return unknown
	}
	return t.Sub(s.begin)
}
