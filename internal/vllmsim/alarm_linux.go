package vllmsim

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kernelAlarm is made of a timerfd that the runtime's poller watches: late by
// tens of microseconds, where the runtime's own timers round up to a millisecond
// once a process is idle. It holds no processor while it waits.
type kernelAlarm struct {
	timer *os.File
	raw   syscall.RawConn
	fd    int
	rung  chan struct{}

	mu       sync.Mutex
	isClosed bool
}

func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimerAlarm()
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	raw, err := timer.SyscallConn()
	if err != nil {
		timer.Close()
		return newTimerAlarm()
	}
	return &kernelAlarm{timer: timer, raw: raw, fd: fd, rung: make(chan struct{}, 1)}
}

// wait lets the poller wait for the timer to fire and never reads it: to set it
// anew is enough for it to be reported again. The setting is done between the
// poller's getting ready and its wait, so that no firing falls before the wait.
func (a *kernelAlarm) wait(until time.Time) {
	if until.IsZero() {
		<-a.rung
		return
	}
	left := time.Until(until)
	if left <= 0 {
		return
	}
	isSet := false
	a.raw.Read(func(uintptr) bool {
		if isSet {
			return true
		}
		isSet = true
		a.set(left)
		return a.wasRung() // before the setting; a later ring fires the timer
	})
	a.wasRung()
}

func (a *kernelAlarm) wasRung() bool {
	select {
	case <-a.rung:
		return true
	default:
		return false
	}
}

func (a *kernelAlarm) set(left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.isClosed { // else the descriptor may be another file's by now
		unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
	}
}

func (a *kernelAlarm) ring() {
	select {
	case a.rung <- struct{}{}:
	default:
	}
	a.set(1)
}

func (a *kernelAlarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isClosed = true
	a.timer.Close()
}
