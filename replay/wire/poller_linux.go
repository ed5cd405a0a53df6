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

// Drain silences the bell and the timer; another descriptor has no more to say and is let go.
func (p *Poller) Drain(fd int) {
	if fd != p.bell && fd != p.timer {
		p.Remove(fd)
		return
	}
	var count [8]byte
	unix.Read(fd, count[:])
}

func interest(writes bool) uint32 {
	if writes {
		return unix.EPOLLIN | unix.EPOLLOUT
	}
	return unix.EPOLLIN
}

func (p *Poller) Add(fd int, writes bool) error {
	e := unix.EpollEvent{Events: interest(writes), Fd: int32(fd)}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

func (p *Poller) Change(fd int, writes bool) {
	e := unix.EpollEvent{Events: interest(writes), Fd: int32(fd)}
	unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &e)
}

func (p *Poller) Remove(fd int) { unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, fd, nil) }

// wakeEarlier is about what the kernel needs to wake this thread, asked for in advance; the rest is spent looking.
const wakeEarlier = 40 * time.Microsecond

// Wait returns what is ready, after so long at most.
func (p *Poller) Wait(d time.Duration) []unix.EpollEvent {
	if d = max(d-wakeEarlier, 0); d > 0 {
		sharpen() // whatever thread this is
	}
	var n int
	if p.timer < 0 {
		n, _ = p.pwait2(d)
	} else {
		n = p.wait1(d)
	}
	return p.events[:max(n, 0)]
}

func (p *Poller) pwait2(d time.Duration) (n int, errno unix.Errno) {
	limit := unix.NsecToTimespec(int64(d))
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	return int(int32(r)), errno
}

func (p *Poller) wait1(d time.Duration) int {
	if d == 0 {
		n, _ := unix.EpollWait(p.epoll, p.events, 0)
		return n
	}
	unix.TimerfdSettime(p.timer, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	n, _ := unix.EpollWait(p.epoll, p.events, -1)
	return n
}

// sharpen makes the kernel wake this thread when it was asked to, and not up to 50 us later.
func sharpen() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }
