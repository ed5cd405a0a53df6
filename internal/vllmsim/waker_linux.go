package vllmsim

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timerfdWaker uses a timerfd that the runtime's poller watches. It is late by
// tens of microseconds, whereas the runtime's own timers round up to a
// millisecond once a process is idle. While it waits it occupies no thread.
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

// wait lets the poller wait until the timer is readable and never reads the
// timer: setting it again is enough for the next report. The timer is set
// inside the callback of raw.Read, that is after the poller has armed the
// descriptor and before it waits. A timer set earlier could fire in between and
// the wake-up would be lost.
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
		return w.wasWoken() // by a call before the timer was set; a later call fires it
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

// set arms the timer. The lock and isClosed keep it from touching a descriptor
// number that the kernel may already have given to another file.
func (w *timerfdWaker) set(left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isClosed {
		unix.TimerfdSettime(w.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
	}
}

// wake also fires the timer, in a nanosecond, because the sleeper may already
// be in the poller and no longer look at the channel.
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
