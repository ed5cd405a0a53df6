//go:build duckdb_arrow

package published

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"tidemark/queries"
)

// state tells one state of a DuckDB file from all others, also from those of a file
// that is made anew under the same name: the number of the last checkpoint, the size
// and the time of the last change. The file begins with a header of 4,096 bytes and two
// more that are written in turn; each of these has a checksum of 8 bytes and then the
// number.
func state(file *os.File) (string, error) {
	var number uint64
	for _, at := range []int64{4096, 8192} {
		var bytes [8]byte
		if _, err := file.ReadAt(bytes[:], at+8); err != nil {
			return "", err
		}
		number = max(number, binary.LittleEndian.Uint64(bytes[:]))
	}
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-%d-%d", number, info.Size(), info.ModTime().UnixNano()), nil
}

// stateOf is the state of the file at a path. It must not be called in a process
// that has the file open for writing: closing any descriptor of a file drops the
// process's locks on it.
func stateOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
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
	// OfAnother: another warehouse is published there.
	OfAnother
	// Due: the warehouse is published there, and the snapshot is not there yet, or was removed.
	Due
	// Damaged: the snapshot or the manifest is not as it was written; the error says what.
	Damaged
	// Older: the warehouse has changed since, or is changing.
	Older
	// OtherVersion: another version of tidemark has written it.
	OtherVersion
	// Current: it is the warehouse as it is.
	Current
)

// Fresh compares the snapshot in a folder with its warehouse. Without the warehouse
// the snapshot is nobody's, and counts as missing. There is an error with Damaged only.
func Fresh(warehouse, folder string) (Freshness, Manifest, error) {
	if folder == Off {
		return SwitchedOff, Manifest{}, nil
	}
	m, err := ReadManifest(folder)
	if err != nil {
		return Damaged, m, err
	}
	if m.IsOff {
		return SwitchedOff, m, nil
	}
	if _, is := m.otherWarehouse(folder, warehouse); is {
		return OfAnother, m, nil
	}
	if _, err := os.Stat(warehouse); err != nil {
		return Missing, m, nil
	}
	snapshot, err := os.Stat(Snapshot(folder))
	if err != nil || m.Snapshot == "" {
		if _, err := os.Stat(filepath.Join(folder, ".lock")); err != nil {
			return Missing, m, nil
		}
		return Due, m, nil
	}
	if m.Stamp != queries.Stamp() {
		return OtherVersion, m, nil
	}
	if log, err := os.Stat(warehouse + ".wal"); err == nil && log.Size() > 0 {
		return Older, m, nil
	}
	now, err := stateOf(warehouse)
	if err != nil || now != m.Snapshot {
		return Older, m, nil
	}
	// Not opened: that would drop the locks of a reader in this process.
	if m.Bytes > 0 && snapshot.Size() != m.Bytes {
		return Damaged, m, fmt.Errorf("%s: has %d bytes and had %d when it was published", Snapshot(folder), snapshot.Size(), m.Bytes)
	}
	return Current, m, nil
}
