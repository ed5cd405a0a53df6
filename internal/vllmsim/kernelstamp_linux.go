package vllmsim

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stampedReader reads a TCP connection and remembers when the kernel received
// what it read last (SO_TIMESTAMPNS). A server that writes to 512 streams at
// once gets to new requests milliseconds late; the kernel does not, and
// Config.Fixed counts TTFT from the real arrival.
type stampedReader struct {
	raw   syscall.RawConn
	clock func() time.Duration
	oob   []byte
	last  time.Duration // when the kernel received the bytes of the last read
}

// newStampedReader returns nil where the kernel keeps no receive times.
func newStampedReader(conn net.Conn, raw syscall.RawConn, clock func() time.Duration) *stampedReader {
	if _, isTCP := conn.(*net.TCPConn); !isTCP || raw == nil {
		return nil
	}
	var err error
	prepare := func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		// Where BBR is the default, it paces sending by timers of its own, but
		// a token must leave when it is written. If reno is not available the
		// default stays.
		unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}
	if raw.Control(prepare) != nil || err != nil {
		return nil
	}
	return &stampedReader{raw: raw, clock: clock, oob: make([]byte, 128)}
}

// Read is a plain read that also fetches the control message with the stamp.
func (a *stampedReader) Read(p []byte) (n int, err error) {
	var told int
	wait := a.raw.Read(func(fd uintptr) bool {
		n, told, _, _, err = unix.Recvmsg(int(fd), p, a.oob, 0)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	switch {
	case wait != nil:
		return 0, wait
	case err != nil:
		return 0, os.NewSyscallError("recvmsg", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	a.last = a.clock() - delaySince(a.oob[:told])
	return n, nil
}

// delaySince is how long the bytes had been in the kernel, by its stamp and the
// wall clock. A step of the wall clock between the two must not look like a
// delay: a negative or implausibly long one counts as zero.
func delaySince(control []byte) time.Duration {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_TIMESTAMPNS || len(m.Data) < int(unsafe.Sizeof(unix.Timespec{})) {
			continue
		}
		stamp := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
		if late := time.Duration(time.Now().UnixNano() - stamp.Nano()); late > 0 && late < time.Second {
			return late
		}
	}
	return 0
}
