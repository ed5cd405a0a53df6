package wire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isQuiet looks at the socket without reading: closed, broken or (unless mayTalk) readable is not quiet. What is no
// socket is taken to be.
func isQuiet(nc net.Conn, mayTalk bool) bool {
	sock, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) { quiet = isQuietSocket(int(fd), mayTalk) })
	return quiet && err == nil
}

// isQuietSocket peeks: EAGAIN is an open connection with nothing to say, 0 bytes a closed one.
func isQuietSocket(fd int, mayTalk bool) bool {
	var b [1]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == unix.EAGAIN || err == nil && n > 0 && mayTalk
}
