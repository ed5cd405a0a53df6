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

// stampedReader reads a TCP connection and knows when the kernel had got what was
// read last. A server that writes to 512 streams at once comes to its requests
// milliseconds late; the kernel does not.
type stampedReader struct {
	raw   syscall.RawConn
	clock func() time.Duration
	oob   []byte
	last  time.Duration // when the bytes of the last read had come
}

// newStampedReader gives nil where the kernel keeps no such times.
func newStampedReader(conn net.Conn, raw syscall.RawConn, clock func() time.Duration) *stampedReader {
	if _, isTCP := conn.(*net.TCPConn); !isTCP || raw == nil {
		return nil
	}
	var err error
	prepare := func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		// BBR, where it is the default, paces what is sent by timers of its own: a
		// token must leave when it is written. Without reno the default stays.
		unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}
	if raw.Control(prepare) != nil || err != nil {
		return nil
	}
	return &stampedReader{raw: raw, clock: clock, oob: make([]byte, 128)}
}

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

// delaySince compares the kernel's stamp with the wall clock, whose steps must
// not be taken for waiting: what cannot be is nought.
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
