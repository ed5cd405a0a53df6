// Bare sockets: Go makes the connection (names, time-outs, Happy Eyeballs), then the descriptor is taken out of Go's poller,
// which would otherwise wake up for every token as well.

package wire

import (
	"errors"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// takeSocket is a descriptor of its own for the connection's socket, which is nonblocking as Go made it. Once nc is
// closed, Go's poller knows nothing of it.
func takeSocket(nc net.Conn) (socket int, err error) {
	sock, ok := nc.(syscall.Conn)
	if !ok {
		return -1, errors.New("not a socket")
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return -1, err
	}
	cerr := raw.Control(func(fd uintptr) { socket, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(cerr, err); err == nil {
		noteArrivals(socket)
	}
	return socket, err
}

func closeSocket(socket int) { unix.Close(socket) }

// WriteSocket returns at once, so the scheduler is not told.
func WriteSocket(socket int, p []byte) (int, error) {
	return result(unix.RawSyscall(unix.SYS_WRITE, uintptr(socket), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))))
}

// result is that of a raw system call, with the error as Go has it.
func result(n, _ uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
