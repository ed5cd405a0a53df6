//go:build !linux

package vllmsim

import (
	"errors"

	"golang.org/x/sys/unix"
)

// writeNow writes to a non-blocking socket. The caller handles what it does not
// take.
func writeNow(fd uintptr, b []byte) (int, error) {
	n, err := unix.Write(int(fd), b)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return max(n, 0), err
}
