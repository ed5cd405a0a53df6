package host

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeBytes is what this user may still write where a folder is, or will be; negative: not known.
func freeBytes(folder string) float64 {
	at, err := filepath.Abs(folder)
	for err == nil && at != filepath.Dir(at) {
		if _, missing := os.Stat(at); missing == nil {
			break
		}
		at = filepath.Dir(at)
	}
	var disk unix.Statfs_t
	if err != nil || unix.Statfs(at, &disk) != nil {
		return -1
	}
	return float64(disk.Bavail) * float64(disk.Bsize)
}
