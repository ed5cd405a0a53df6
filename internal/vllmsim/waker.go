package vllmsim

import "time"

// waker lets one goroutine sleep until an instant, and others wake it earlier.
// There are two: timerfdWaker keeps deadlines on real sockets to tens of
// microseconds, runtimeWaker obeys the fake time of tests.
type waker interface {
	// wait returns at the instant, at once if that has passed, or when wake is
	// called. The zero time means never. It may return early, so callers look
	// at the clock again.
	wait(until time.Time)
	wake() // may be called from any goroutine
	close()
}

// runtimeWaker uses the runtime's timer. It obeys fake time, but can be a
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

// wake leaves a token in the channel of one place. A second call before the
// first is seen adds nothing: the sleeper only needs to know that something
// changed.
func (w *runtimeWaker) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *runtimeWaker) close() { w.timer.Stop() }
