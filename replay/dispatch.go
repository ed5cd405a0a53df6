package replay

import (
	"context"
	"iter"
	"sync"
	"time"
)

// maxTickets bounds the requests that are prepared ahead of their due time, whatever the rate.
const maxTickets = 4096

// dispatch sends the requests, each at its due time, and returns when every one that was sent has ended. It reads the
// plan half a second ahead. A request is on its own from then on; only the gate's goroutine stands between it and its
// due time, and that one does nothing but wait.
func (s *sender) dispatch(requests iter.Seq2[Request, error], sleep Sleep) error {
	tickets := make(chan ticket, maxTickets)
	shut := make(chan struct{})
	var gate, inFlight sync.WaitGroup
	gate.Go(func() { s.keepGate(tickets, shut, sleep) })
	err := s.admit(requests, tickets, shut, &inFlight)
	close(tickets)
	gate.Wait()
	inFlight.Wait()
	return err
}

// admit starts each request connectAhead of its due time.
func (s *sender) admit(requests iter.Seq2[Request, error], tickets chan<- ticket, shut chan struct{}, inFlight *sync.WaitGroup) error {
	for req, err := range requests {
		if err != nil {
			s.giveUp(err)
			return err
		}
		if !timerSleep(s.stop, time.Until(s.begin.Add(req.Due-connectAhead))) {
			return nil
		}
		t := ticket{due: req.Due, open: make(chan struct{})}
		select {
		case tickets <- t:
		case <-s.stop.Done():
			return nil
		}
		inFlight.Go(func() { s.send(req, t, shut) })
	}
	return nil
}

// keepGate opens each ticket at its due time, in order, until the run stops; what is not open then stays unsent.
func (s *sender) keepGate(tickets <-chan ticket, shut chan struct{}, sleep Sleep) {
	defer close(shut)
	for t := range tickets {
		if !sleep(s.stop, time.Until(s.begin.Add(t.due))) {
			return
		}
		close(t.open)
	}
}

// Sleep waits; false when the context ended first.
type Sleep func(ctx context.Context, d time.Duration) bool

// timerSleep uses Go's timers, which may be a millisecond late on an idle Linux.
func timerSleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
