package vllmsim

import "time"

// waker wakes one goroutine at an instant, or before it when somebody rings.
type waker interface {
	// wait returns at the instant, at once if it has passed, or after a ring.
	// The zero time is never. It may return early: callers look at the clock.
	wait(until time.Time)
	wake() // may be called from any goroutine
	close()
}

// runtimeWaker is made of the runtime's timer: it obeys fake time, but may be a
// millisecond late.
type runtimeWaker struct {
	timer *time.Timer
	woken chan struct{}
}

func newRuntimeWaker() waker {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &runtimeWaker{timer: t, woken: make(chan struct{}, 1)}
}

func (w *runtimeWaker) wait(until time.Time) {
	if until.IsZero() {
		<-w.woken
		return
	}
	w.timer.Reset(time.Until(until))
	select {
	case <-w.timer.C:
	case <-w.woken:
		w.timer.Stop()
	}
}

func (w *runtimeWaker) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *runtimeWaker) close() { w.timer.Stop() }
