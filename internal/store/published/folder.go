//go:build duckdb_arrow

package published

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tidemark/internal/hint"
)

// Off in place of a folder says that nothing is to be published.
const Off = "off"

// Folder is where a warehouse is published: what the user says, or beside the
// warehouse. It is Off where the user says so.
func Folder(warehouse, asked string) string {
	if asked != "" {
		return asked
	}
	return strings.TrimSuffix(warehouse, ".duckdb") + ".published"
}

// Snapshot is the path of the published file.
func Snapshot(folder string) string { return filepath.Join(folder, "latest.duckdb") }

func spare(folder string) string        { return filepath.Join(folder, "spare.duckdb") }
func lake(folder string) string         { return filepath.Join(folder, "lake") }
func manifestFile(folder string) string { return filepath.Join(folder, "manifest.json") }

// Manifest is manifest.json.
type Manifest struct {
	IsOff     bool    `json:"off,omitempty"` // publishing was switched off; there is nothing else in the folder
	Version   string  `json:"version"`       // of the program that published
	Stamp     string  `json:"stamp"`         // fingerprint of its SQL
	Warehouse string  `json:"warehouse"`     // its path from the folder
	Snapshot  string  `json:"snapshot"`      // which state of the warehouse (state.go)
	Published string  `json:"published_at"`  // RFC 3339
	Bytes     int64   `json:"bytes"`         // of latest.duckdb
	Owners    []owner `json:"of"`            // the runs and sources that are in the lake
	Parts     []Part  `json:"parts"`         // the files of the lake
}

// Part is one file of the lake.
type Part struct {
	Relation string `json:"relation"`    // marts.tpot_gap
	Key      string `json:"key"`         // the run or the source that its rows are of
	Computed string `json:"computed_at"` // when the rows were: another time means other rows
	Path     string `json:"path"`        // from the folder
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
}

// ErrDamaged marks a manifest that cannot be read. What it was of is written anew by "tidemark warehouse publish".
var ErrDamaged = errors.New("the manifest is damaged")

// ReadManifest reads manifest.json; a folder without one gives an empty manifest.
func ReadManifest(folder string) (m Manifest, err error) {
	text, err := os.ReadFile(manifestFile(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return Manifest{}, hint.Errorf("%s: %w", manifestFile(folder), err).Mark(ErrDamaged).Hint(`"tidemark warehouse publish" makes it anew`)
	}
	return m, nil
}

func (m Manifest) write(folder string, mode fs.FileMode) error {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return replace(manifestFile(folder), mode, func(file *os.File) error {
		_, err := file.Write(append(text, '\n'))
		return err
	})
}

// temporaryMark is in the names under which files are written; a random number follows it.
const temporaryMark = ".tmp-"

// replace writes a file under another name, syncs it and renames it. That name is new: a link that somebody has put there would lead to a
// file of the user's.
func replace(path string, mode fs.FileMode, write func(*os.File) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+temporaryMark)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Rename(file.Name(), path)
}

// lockFile opens the file whose lock keeps processes apart.
func lockFile(folder string, mode fs.FileMode) (release func(), err error) {
	lock, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() { lock.Close() }, nil
}

// owned refuses a folder that a stranger has made where the publisher's would be: it belongs to the user, to the owner of the warehouse
// or to the system.
func owned(folder, warehouse string) error {
	of := func(path string) (uint32, bool) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		stat, is := info.Sys().(*syscall.Stat_t)
		return stat.Uid, is
	}
	owner, isThere := of(folder)
	if user, _ := of(warehouse); !isThere || owner == 0 || owner == user || owner == uint32(os.Geteuid()) {
		return nil
	}
	return hint.Errorf("%s: belongs to another user than the warehouse", folder).Hint("remove it if it is none of yours, or name another folder with --publish DIR")
}

// removeTemporary removes what killed publishers left, while the lock is held.
func removeTemporary(folder string) error {
	entries, err := os.ReadDir(folder)
	errs := []error{err}
	for _, entry := range entries {
		if name, _, is := strings.Cut(entry.Name(), temporaryMark); is && isOurs(folder, name) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// prepare makes the folder, and takes the lock that keeps two publishers apart. The
// folder lets in whoever may read the warehouse.
func prepare(folder, warehouse string, mode fs.FileMode) (release func(), err error) {
	if err := owned(folder, warehouse); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(folder, ".lock")); err != nil {
			return nil, hint.Errorf("%s: holds files that were not published by tidemark", folder).Hint("name another folder with --publish DIR")
		}
	}
	if err := os.MkdirAll(folder, folderMode(mode)); err != nil {
		return nil, err
	}
	if release, err = lockFile(folder, mode|0o600); err != nil {
		return nil, err
	}
	if err := removeTemporary(folder); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// folderMode lets into a folder whoever may read its files.
func folderMode(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 | 0o300 }

// syncFolder makes renames in a folder last.
func syncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
