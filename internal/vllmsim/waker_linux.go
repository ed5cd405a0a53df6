package vllmsim

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerfdWaker is made of a timerfd that the runtime's poller watches: late by
// tens of microseconds, where the runtime's own timers round up to a millisecond
// once a process is idle. It holds no processor while it waits.
type timerfdWaker struct {
	timer *os.File
	raw   syscall.RawConn
	fd    int
	woken chan struct{}

	mu       sync.Mutex
	isClosed bool
}

func newWaker() waker {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newRuntimeWaker()
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	raw, err := timer.SyscallConn()
	if err != nil {
		timer.Close()
		return newRuntimeWaker()
	}
	return &timerfdWaker{timer: timer, raw: raw, fd: fd, woken: make(chan struct{}, 1)}
}

// wait lets the poller wait for the timer to fire and never reads it: to set it
// anew is enough for it to be reported again. The setting is done between the
// poller's getting ready and its wait, so that no firing falls before the wait.
func (w *timerfdWaker) wait(until time.Time) {
	if until.IsZero() {
		<-w.woken
		return
	}
	left := time.Until(until)
	if left <= 0 {
		return
	}
	isSet := false
	w.raw.Read(func(uintptr) bool {
		if isSet {
			return true
		}
		isSet = true
		w.set(left)
		return w.wasWoken() // before the setting; a later ring fires the timer
	})
	w.wasWoken()
}

func (w *timerfdWaker) wasWoken() bool {
	select {
	case <-w.woken:
		return true
	default:
		return false
	}
}

func (w *timerfdWaker) set(left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isClosed { // else the descriptor may be another file's by now
		unix.TimerfdSettime(w.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
	}
}

func (w *timerfdWaker) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
	w.set(1)
}

func (w *timerfdWaker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isClosed = true
	w.timer.Close()
}
