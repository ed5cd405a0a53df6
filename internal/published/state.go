//go:build duckdb_arrow

package published

import (
	"encoding/binary"
	"io"
	"os"

	"tidemark/queries"
)

// state is the number of the last checkpoint in a DuckDB file. The file begins with
// a header of 4,096 bytes and two more that are written in turn; each of these has a
// checksum of 8 bytes and then the number.
func state(file io.ReaderAt) (uint64, error) {
	var number uint64
	for _, at := range []int64{4096, 8192} {
		var bytes [8]byte
		if _, err := file.ReadAt(bytes[:], at+8); err != nil {
			return 0, err
		}
		number = max(number, binary.LittleEndian.Uint64(bytes[:]))
	}
	return number, nil
}

// stateOf is the state of the file at a path. It must not be called in a process
// that has the file open for writing: closing any descriptor of a file drops the
// process's locks on it.
func stateOf(path string) (uint64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return state(file)
}

// Freshness says what a snapshot is worth to a reader.
type Freshness int

const (
	// Missing: nothing is published.
	Missing Freshness = iota
	// SwitchedOff: the user wants no snapshot.
	SwitchedOff
	// Older: the warehouse has changed since, or is changing.
	Older
	// OtherVersion: another version of tidemark has written it.
	OtherVersion
	// Current: it is the warehouse as it is.
	Current
)

// Fresh compares the snapshot in a folder with its warehouse. A warehouse that is
// not there any more leaves its snapshot current.
func Fresh(warehouse, folder string) (Freshness, Manifest, error) {
	if folder == Off {
		return SwitchedOff, Manifest{}, nil
	}
	m, err := ReadManifest(folder)
	if err != nil {
		return Missing, m, err
	}
	if m.IsOff {
		return SwitchedOff, m, nil
	}
	if _, err := os.Stat(Snapshot(folder)); err != nil {
		return Missing, m, nil
	}
	if m.Stamp != queries.Stamp() {
		return OtherVersion, m, nil
	}
	if log, err := os.Stat(warehouse + ".wal"); err == nil && log.Size() > 0 {
		return Older, m, nil
	}
	now, err := stateOf(warehouse)
	if os.IsNotExist(err) {
		return Current, m, nil
	}
	if err != nil || now != m.Snapshot {
		return Older, m, nil
	}
	return Current, m, nil
}
