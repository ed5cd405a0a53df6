//go:build duckdb_arrow

package warehouse

import (
	"os"

	"golang.org/x/sys/unix"
)

// BlockWriters lets nobody write to the file at path until release is called; reading stays possible. DuckDB's own lock is
// not enough for that: Linux drops all of a process's locks on a file when the process closes it once, as a detach does.
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
