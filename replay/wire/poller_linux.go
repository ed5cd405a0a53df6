// epoll with a time-out in nanoseconds: epoll_pwait2 where the kernel has it (5.11), else a timerfd in the set. Raw system
// calls are used where they return at once, since telling Go's scheduler of each would cost more than the call.

package wire

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poller waits for sockets, for a bell and for an instant, to the microsecond.
type Poller struct {
	epoll, bell int
	timer       int // -1: the kernel takes a time-out in nanoseconds
	events      []unix.EpollEvent

	mu       sync.Mutex // of the bell: what rings it may come too late
	isClosed bool
}

// NewPoller finds out by a trial which waiting call the kernel has; a container's filter may forbid the newer one with
// EPERM.
func NewPoller() (p *Poller, err error) {
	p = &Poller{epoll: -1, bell: -1, timer: -1, events: make([]unix.EpollEvent, 512)}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return p, fmt.Errorf("epoll: %w", err)
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return p, fmt.Errorf("eventfd: %w", err)
	}
	if err = p.Add(p.bell, false); err != nil {
		return p, fmt.Errorf("epoll: %w", err)
	}
	if _, errno := p.pwait2(0); errno == unix.ENOSYS || errno == unix.EPERM { // a kernel before 5.11, or a filter of calls
		if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
			return p, fmt.Errorf("timerfd: %w", err)
		}
		err = p.Add(p.timer, false)
	}
	return p, err
}

// Close comes under the lock of the bell: a wake that is under way must not write to a descriptor of somebody else.
func (p *Poller) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isClosed = true
	for _, fd := range []int{p.epoll, p.bell, p.timer} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Wake ends the wait; any goroutine may call it.
func (p *Poller) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isClosed {
		one := [8]byte{1}
		unix.Write(p.bell, one[:])
	}
}

// Drain silences the bell and the timer; any other descriptor has been given up and is removed.
func (p *Poller) Drain(fd int) {
	if fd != p.bell && fd != p.timer {
		p.Remove(fd)
		return
	}
	var count [8]byte
	unix.Read(fd, count[:])
}

// interest in writing is only asked for while a request did not fit into the socket at once.
func interest(writes bool) uint32 {
	if writes {
		return unix.EPOLLIN | unix.EPOLLOUT
	}
	return unix.EPOLLIN
}

// Add begins to wait for a socket. Level-triggered: what was not read yet is reported again.
func (p *Poller) Add(fd int, writes bool) error {
	e := unix.EpollEvent{Events: interest(writes), Fd: int32(fd)}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

func (p *Poller) Change(fd int, writes bool) {
	e := unix.EpollEvent{Events: interest(writes), Fd: int32(fd)}
	unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &e)
}

// Remove is needed before a connection goes back to the pool: an idle one must not wake the loop.
func (p *Poller) Remove(fd int) { unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, fd, nil) }

// wakeEarlier is about what the kernel needs to wake this thread, asked for in advance; the rest is spent looking.
const wakeEarlier = 40 * time.Microsecond

// Wait returns what is ready, after so long at most.
func (p *Poller) Wait(d time.Duration) []unix.EpollEvent {
	if d = max(d-wakeEarlier, 0); d > 0 {
		// The kernel is to wake whatever thread this is when it was asked to, and not up to 50 us later.
		unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	var n int
	if p.timer < 0 {
		n, _ = p.pwait2(d)
	} else {
		n = p.wait1(d)
	}
	return p.events[:max(n, 0)]
}

// pwait2 is a raw call also where it sleeps: Go's scheduler need not know, since this goroutine has a thread to itself.
func (p *Poller) pwait2(d time.Duration) (n int, errno unix.Errno) {
	limit := unix.NsecToTimespec(int64(d))
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	return int(int32(r)), errno
}

// wait1 is for kernels without epoll_pwait2: the timerfd in the set ends the wait to the microsecond, where epoll_wait
// knows milliseconds.
func (p *Poller) wait1(d time.Duration) int {
	if d == 0 {
		n, _ := unix.EpollWait(p.epoll, p.events, 0)
		return n
	}
	unix.TimerfdSettime(p.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	n, _ := unix.EpollWait(p.epoll, p.events, -1)
	return n
}
