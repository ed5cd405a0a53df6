//go:build unix && !linux

package vllmsim

import (
	"errors"

	"golang.org/x/sys/unix"
)

// writeNow writes to a socket that does not block. What it does not take is
// left to the caller.
func writeNow(fd uintptr, b []byte) (int, error) {
	n, err := unix.Write(int(fd), b)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return max(n, 0), err
}
