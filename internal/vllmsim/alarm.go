package vllmsim

import "time"

// alarm wakes one goroutine at an instant, or before it when somebody rings.
type alarm interface {
	// wait returns at the instant, at once if it has passed, or after a ring.
	// The zero time is never. It may return early: callers look at the clock.
	wait(until time.Time)
	ring() // may be called from any goroutine
	close()
}

// timerAlarm is made of the runtime's timer: it obeys fake time, but may be a
// millisecond late.
type timerAlarm struct {
	timer *time.Timer
	rung  chan struct{}
}

func newTimerAlarm() alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerAlarm{timer: t, rung: make(chan struct{}, 1)}
}

func (a *timerAlarm) wait(until time.Time) {
	if until.IsZero() {
		<-a.rung
		return
	}
	a.timer.Reset(time.Until(until))
	select {
	case <-a.timer.C:
	case <-a.rung:
		a.timer.Stop()
	}
}

func (a *timerAlarm) ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

func (a *timerAlarm) close() { a.timer.Stop() }
