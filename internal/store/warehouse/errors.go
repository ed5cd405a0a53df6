//go:build duckdb_arrow

package warehouse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// ErrStale marks a warehouse whose views are of another version of the program.
// Opening it with ReadWrite brings it up to date.
var ErrStale = errors.New("its views were made by another version of tidemark")

// within adds the file's name and keeps the hint and the cause.
func within(path string, err error) error {
	if isDamaged(err) {
		return damaged(path, err)
	}
	return fmt.Errorf("warehouse %s: %w", path, err)
}

// holder finds the process that holds the file in DuckDB's message:
// "Conflicting lock is held in /usr/bin/tidemark (PID 4711)". DuckDB has no
// error code for it.
var holder = regexp.MustCompile(`lock is held in (.*?) ?\(PID (\d+)\)`)

// ErrHeld marks the error of a warehouse that another process has open. Trying
// again later may work.
var ErrHeld = errors.New("held by another process")

const whenHeld = "try again when that process has ended, wait longer with --wait 10m, or name another file with --warehouse FILE"

// openError translates DuckDB's reason for not opening the file into the user's
// words.
func openError(path string, err error) error {
	text := err.Error()
	switch found := holder.FindStringSubmatch(text); {
	case found != nil:
		return hint.Errorf("warehouse %s: held by process %s (%s)", path, found[2], filepath.Base(found[1])).
			Hint("%s", whenHeld).Mark(ErrHeld)
	case strings.Contains(text, "set lock on file"):
		return hint.Errorf("warehouse %s: held by another process", path).
			Hint("%s", whenHeld).Mark(ErrHeld)
	case strings.Contains(text, "different configuration"):
		return hint.Errorf("warehouse %s: already open in this process in the other mode (process %d)", path, os.Getpid()).
			Hint("close it first")
	case isDamaged(err):
		return damaged(path, err)
	case strings.Contains(text, "not a valid DuckDB database"):
		return foreign(path, "not a DuckDB file")
	}
	return hint.Errorf("warehouse %s: %s", path, duckDBSays(err)).Hint("name another file with --warehouse FILE")
}

// isDamaged recognises DuckDB's messages for a file that is truncated or has
// other bytes than it wrote.
func isDamaged(err error) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"Corrupt database file", "Could not read enough bytes from file", "does not match stored checksum"}, func(mark string) bool {
		return strings.Contains(text, mark)
	})
}

// damaged says how to rebuild the warehouse: the runs and traces that it was
// made from are still there.
func damaged(path string, err error) error {
	return hint.Errorf("warehouse %s: the file is damaged (%s)", path, duckDBSays(err)).
		Hint("rebuild it from the runs and traces: mv %s %s.damaged; tidemark ingest --warehouse %s runs TRACE...", escape.Shell(path), escape.Shell(path), escape.Shell(path))
}

// duckDBSays is the first line of DuckDB's message, without its prefix.
func duckDBSays(err error) string {
	text := err.Error()
	if index := strings.LastIndex(text, "IO Error: "); index >= 0 {
		text = text[index+len("IO Error: "):]
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Explain adds what to do to the error of a query that found the file damaged, or a file of another version without
// what was asked. Any other error stays as it is.
func (w *Warehouse) Explain(err error) error {
	if of, answer := (*duckdb.Error)(nil), (*hint.Error)(nil); w.isOther && errors.As(err, &of) && of.Type == duckdb.ErrorTypeCatalog && !errors.As(err, &answer) {
		return hint.Errorf("warehouse %s: it was written by another version of tidemark and lacks what this one asks: %w", w.path, err).
			Hint(`"tidemark warehouse upgrade" of the warehouse brings it to this version and publishes it again`)
	}
	if err == nil || !isDamaged(err) || strings.Contains(err.Error(), "the file is damaged") {
		return err
	}
	return damaged(w.path, err)
}

// foreign refuses a file that Tidemark did not make. Nothing may be written
// into it.
func foreign(path, why string) error {
	return hint.Errorf("warehouse %s: %s", path, why).
		Hint("it was not made by tidemark and is left alone; name another file with --warehouse FILE")
}

// WasInterrupted reports whether DuckDB gave up a query because its context
// ended.
func WasInterrupted(err error) bool {
	var of *duckdb.Error
	return errors.As(err, &of) && of.Type == duckdb.ErrorTypeInterrupt
}

// writeError says so plainly if the disk, not the data, is the reason.
func writeError(err error) error {
	if !IsDiskFull(err) {
		return err
	}
	return hint.Errorf("the disk is full (%s); nothing was changed", fullDisk.FindString(strings.ToLower(err.Error()))).
		Hint("make room, or name a file on another disk with --warehouse FILE")
}
