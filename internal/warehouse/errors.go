//go:build duckdb_arrow

package warehouse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/hint"
)

// ErrStale marks a warehouse whose views are of another version of the program.
// Opening it with ReadWrite brings it up to date.
var ErrStale = errors.New("its views were made by another version of tidemark")

// within names the file and keeps the hint and what errors.Is looks for.
func within(path string, err error) error {
	if isDamaged(err) {
		return damaged(path, err)
	}
	return fmt.Errorf("warehouse %s: %w", path, err)
}

// holder finds who holds the file in DuckDB's own words:
// "Conflicting lock is held in /usr/bin/tidemark (PID 4711)".
var holder = regexp.MustCompile(`lock is held in (.*?) ?\(PID (\d+)\)`)

// ErrHeld is in the error of a warehouse that another process has open: to try again later may do.
var ErrHeld = errors.New("held by another process")

const whenHeld = "try again when that process has ended, wait longer with --wait 10m, or name another file with --warehouse FILE"

// openError says in the user's words why DuckDB did not open the file.
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

// isDamaged finds DuckDB's words for a file that is not whole: cut, or with other bytes than it wrote.
func isDamaged(err error) bool {
	text := err.Error()
	for _, mark := range []string{"Corrupt database file", "Could not read enough bytes from file", "does not match stored checksum"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// damaged says how to get the warehouse back: the files that it was made from are still there.
func damaged(path string, err error) error {
	return hint.Errorf("warehouse %s: the file is damaged (%s)", path, duckDBSays(err)).
		Hint("rebuild it from the runs and traces: mv %s %s.damaged; tidemark ingest --warehouse %s runs TRACE...", path, path, path)
}

// duckDBSays is DuckDB's own words, without what kind of error it calls them.
func duckDBSays(err error) string {
	text := err.Error()
	if index := strings.LastIndex(text, "IO Error: "); index >= 0 {
		text = text[index+len("IO Error: "):]
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// Explain says what to do about an error of a query that found the file damaged. Any other error stays as it is.
func (w *Warehouse) Explain(err error) error {
	if err == nil || !isDamaged(err) || strings.Contains(err.Error(), "the file is damaged") {
		return err
	}
	return damaged(w.path, err)
}

// foreign refuses a file that Tidemark did not make.
func foreign(path, why string) error {
	return hint.Errorf("warehouse %s: %s", path, why).
		Hint("it was not made by tidemark and is left alone; name another file with --warehouse FILE")
}

// WasInterrupted says whether DuckDB gave a query up because its context had ended.
func WasInterrupted(err error) bool {
	var of *duckdb.Error
	return errors.As(err, &of) && of.Type == duckdb.ErrorTypeInterrupt
}

// writeError says plainly when the disk, not the data, is the reason.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, mark := range []string{"No space left on device", "File too large", "Disk quota exceeded"} {
		if strings.Contains(text, mark) {
			return hint.Errorf("%s", "the disk is full ("+strings.ToLower(mark)+"); nothing was changed").
				Hint("make room, or name a file on another disk with --warehouse FILE")
		}
	}
	return err
}
