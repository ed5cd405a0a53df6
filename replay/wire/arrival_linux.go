// Socket time stamps (SO_TIMESTAMPNS, socket(7)) are in the wall clock, and the run's instants are monotonic. The two are
// compared at every wake-up; after a step of the wall clock the stamps are not believed until two comparisons agree again.

package wire

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel notes when each segment came in (SO_TIMESTAMPNS). The event loop takes that as the instant of what it reads:
// when five hundred streams bring a token in one instant, the last of them is read milliseconds after it was there, and
// that is not the server's doing. Where the kernel says nothing, the instant right after the read counts.

// Receiver reads sockets, and finds out when the kernel had what it reads.
type Receiver struct {
	begin    time.Time   // the run's zero
	zero     int64       // the same by the wall clock, which the kernel's notes are in, nanoseconds
	isSteady bool        // the wall clock was not set since it was last looked at
	message  unix.Msghdr // of read
	vector   unix.Iovec  // of message
	control  [8]uint64   // of message
}

// NewReceiver compares the clocks twice: the first comparison only sets zero, and a clock is believed from the second
// on.
func NewReceiver(begin time.Time) *Receiver {
	r := &Receiver{begin: begin}
	r.message.Iov = &r.vector
	r.message.SetIovlen(1)
	r.CompareClocks()
	r.CompareClocks()
	return r
}

// noteArrivals has the kernel note when what comes on a socket arrives. Without, nothing is lost but precision.
func noteArrivals(socket int) { unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// clockStep is more than the two clocks differ by unless one was set. They are slewed together.
const clockStep = 100 * time.Microsecond

// CompareClocks finds out where the wall clock stands against the run's. It reads the wall clock first: whatever comes
// between the two readings makes zero smaller, so that the largest is the best.
func (r *Receiver) CompareClocks() {
	now := time.Now()
	zero := now.UnixNano() - int64(now.Sub(r.begin))
	drift := time.Duration(zero - r.zero)
	r.isSteady = drift.Abs() < clockStep
	if drift > 0 || !r.isSteady {
		r.zero = zero
	}
}

// Receive returns at once, so the scheduler is not told. arrived is since the run's zero; isKnown is false where the kernel
// does not say it, or not reliably.
func (r *Receiver) Receive(socket int, p []byte) (n int, arrived time.Duration, isKnown bool, err error) {
	r.vector.Base = &p[0]
	r.vector.SetLen(len(p))
	r.message.Control = (*byte)(unsafe.Pointer(&r.control))
	r.message.SetControllen(int(unsafe.Sizeof(r.control)))
	n, err = result(unix.RawSyscall(unix.SYS_RECVMSG, uintptr(socket), uintptr(unsafe.Pointer(&r.message)), 0))
	if note := (*unix.Cmsghdr)(unsafe.Pointer(&r.control)); err != nil || !r.isSteady || int(r.message.Controllen) < unix.CmsgLen(0) ||
		note.Level != unix.SOL_SOCKET || note.Type != unix.SCM_TIMESTAMPNS {
		return n, 0, false, err
	}
	at := (*unix.Timespec)(unsafe.Add(unsafe.Pointer(&r.control), unix.CmsgLen(0)))
	return n, time.Duration(at.Nano() - r.zero), true, nil
}
