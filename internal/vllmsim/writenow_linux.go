package vllmsim

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// writeNow sends to a socket without waiting. At 80,000 tokens a second two
// detours would show: the file system's write, and telling the runtime of a call
// that cannot block. What the socket does not take is left to the caller.
func writeNow(fd uintptr, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, errno
}
