package vllmsim

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kernelAlarm is made of a timerfd read through the runtime's poller: late by
// tens of microseconds, where the runtime's own timers round up to a
// millisecond once a process is idle. It holds no processor while it waits.
type kernelAlarm struct {
	timer *os.File
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
	return &kernelAlarm{timer: os.NewFile(uintptr(fd), "timerfd"), fd: fd, rung: make(chan struct{}, 1)}
}

func (a *kernelAlarm) wait(until time.Time) {
	if until.IsZero() {
		<-a.rung
		return
	}
	left := time.Until(until)
	if left <= 0 {
		return
	}
	// Set first, look second: a ring in between is either seen here or sets the
	// timer after us.
	a.set(left)
	select {
	case <-a.rung:
		return
	default:
	}
	var expirations [8]byte
	a.timer.Read(expirations[:])
	select {
	case <-a.rung:
	default:
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
