//go:build duckdb_arrow

package warehouse

import (
	"os"

	"golang.org/x/sys/unix"
)

// BlockWriters keeps everybody from writing to the file at path until release
// is called; reading stays possible. DuckDB's own lock is not enough: it is a
// POSIX lock, and Linux drops all of a process's POSIX locks on a file as soon
// as the process closes any descriptor of it, as a detach does. This lock
// belongs to its open file description (F_OFD_SETLK) and survives that.
func BlockWriters(path string) (release func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		file.Close()
		return nil, within(path, ErrHeld)
	}
	return func() { file.Close() }, nil
}
