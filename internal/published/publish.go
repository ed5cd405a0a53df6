//go:build duckdb_arrow

package published

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
	"tidemark/queries"
)

// Result says what publishing did.
type Result struct {
	IsFirst bool  // there was no snapshot before
	Bytes   int64 // on disk, all of the folder
}

// Publish brings the folder up to date with an open warehouse. It must be the last
// that is done with the warehouse before it is closed, and nothing else may run on it.
// Done must be called after it is closed. An error leaves the old snapshot.
func Publish(ctx context.Context, w *warehouse.Warehouse, folder, version string) (result Result, done func(), err error) {
	done = func() {}
	if folder == Off {
		return result, done, nil
	}
	fail := func(err error) (Result, func(), error) {
		return result, done, hint.Errorf("publish into %s: %w", folder, err).
			Hint(`readers see the state before; "tidemark publish" tries again, --publish DIR names another folder, "tidemark publish --off" ends it`)
	}
	old, err := ReadManifest(folder)
	if err != nil || old.IsOff {
		return result, done, err
	}
	if err := old.checkOwner(folder, w.Path()); err != nil {
		return result, done, err
	}
	path, err := relativeTo(folder, w.Path())
	if err != nil {
		return fail(err)
	}
	// Not closed before the warehouse is: closing it would drop DuckDB's lock.
	file, err := os.Open(w.Path())
	if err != nil {
		return fail(err)
	}
	done = func() { file.Close() }
	if _, err := w.DB().ExecContext(ctx, "checkpoint"); err != nil {
		return fail(err)
	}
	info, err := file.Stat()
	if err != nil {
		return fail(err)
	}
	now, err := state(file)
	if err != nil {
		return fail(err)
	}
	if now == old.Snapshot && old.Stamp == queries.Stamp() && old.Warehouse == path {
		if _, err := os.Stat(Snapshot(folder)); err == nil {
			return result, done, nil
		}
	}
	release, err := prepare(folder, info.Mode().Perm())
	if err != nil {
		return fail(err)
	}
	defer release()
	// Another warehouse may have been published here while this process waited for the lock.
	if old, err = ReadManifest(folder); err != nil {
		return result, done, err
	}
	if err := old.checkOwner(folder, w.Path()); err != nil {
		return result, done, err
	}
	p := publication{w: w, file: file, mode: info.Mode().Perm(), size: info.Size(), folder: folder, old: old}
	_, missing := os.Stat(Snapshot(folder))
	if err := p.publish(ctx, Manifest{Version: version, Stamp: queries.Stamp(), Warehouse: path, Snapshot: now, Published: time.Now().UTC().Format(time.RFC3339)}); err != nil {
		return fail(err)
	}
	result.IsFirst = errors.Is(missing, fs.ErrNotExist)
	result.Bytes, err = diskUse(folder)
	return result, done, err
}

// publication is one Publish at work.
type publication struct {
	w      *warehouse.Warehouse
	file   *os.File // the warehouse
	mode   fs.FileMode
	size   int64
	folder string
	old    Manifest
}

// publish writes the lake's new parts first: a manifest never names a part that is
// not there.
func (p publication) publish(ctx context.Context, m Manifest) error {
	var err error
	if m.Owners, m.Parts, err = p.addParts(ctx); err != nil {
		return fmt.Errorf("lake: %w", err)
	}
	if err := p.snapshot(ctx, m.Stamp); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := m.write(p.folder, p.mode); err != nil {
		return err
	}
	if err := syncFolder(p.folder); err != nil {
		return err
	}
	return p.removeParts(m.Parts)
}

// SwitchOff removes all that is published in the folder, and says in it that
// nothing is to be published any more.
func SwitchOff(folder string) error {
	release, err := prepare(folder, 0o600)
	if err != nil {
		return err
	}
	defer release()
	if err := Clean(folder); err != nil {
		return err
	}
	return Manifest{IsOff: true}.write(folder, 0o600)
}

// SwitchOn undoes SwitchOff; the next Publish publishes.
func SwitchOn(folder string) error {
	m, err := ReadManifest(folder)
	if err != nil || !m.IsOff {
		return err
	}
	return os.Remove(manifestFile(folder))
}

// Forget makes the next Publish write everything anew, and keep nothing of what is
// there: rows have been purged.
func Forget(folder string) error {
	if m, err := ReadManifest(folder); err != nil || m.IsOff {
		return err
	}
	return removeIfThere(manifestFile(folder))
}

// Clean removes all that is published in the folder.
func Clean(folder string) error {
	var errs []error
	for _, path := range []string{Snapshot(folder), Snapshot(folder) + ".tmp", spare(folder), spare(folder) + ".wal", lake(folder), manifestFile(folder)} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// diskUse is the size of all files in a folder. A file with two names counts once
// for each; the spare snapshot has one of its own.
func diskUse(folder string) (bytes int64, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	})
	return bytes, err
}
