//go:build duckdb_arrow

package warehouse

// What killed processes leave next to a warehouse, other than rows that are in it.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// PurgeFolder is the pattern, as os.MkdirTemp has it, of the folder in which a purge makes the new file.
func PurgeFolder(path string) string { return filepath.Base(path) + purgeMark + "*" }

const purgeMark = ".purge-"

// RemoveLeftPurges removes the copies that killed purges left: they hold rows that somebody wanted gone. The caller holds
// the warehouse for writing. A purge that runs holds it too, so it has left nothing here.
func RemoveLeftPurges(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a purge works next to the file, not next to a link
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), filepath.Base(path)+purgeMark) {
			errs = append(errs, os.RemoveAll(filepath.Join(filepath.Dir(path), entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// endLog ends a log in which a killed process left nothing but a torn transaction. DuckDB ignores such a log and leaves it,
// so that everybody would take it for the log of a process that writes now.
func (w *Warehouse) endLog(ctx context.Context) error {
	if log, err := os.Stat(w.path + ".wal"); w.path == Memory || err != nil || log.Size() == 0 {
		return nil
	}
	_, err := w.db.ExecContext(ctx, "checkpoint")
	if _, left := os.Stat(w.path + ".wal"); err != nil || left != nil {
		return err
	}
	// Only a change makes DuckDB write a checkpoint and remove the log.
	_, err = w.db.ExecContext(ctx, "create schema ends_the_log; drop schema ends_the_log; checkpoint")
	return err
}

// IsDiskFull says that an error is for lack of room.
func IsDiskFull(err error) bool {
	return err != nil && fullDisk.MatchString(strings.ToLower(err.Error()))
}

var fullDisk = regexp.MustCompile("no space left on device|file too large|disk quota exceeded")
