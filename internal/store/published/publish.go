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
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// Result says what publishing did.
type Result struct {
	IsFirst bool  // there was no snapshot before
	Bytes   int64 // on disk, all of the folder; 0: nothing was to be done
	Damaged int   // files that were missing or damaged, and were made anew
}

// Publish brings the folder up to date with an open warehouse. It must be the last
// that is done with the warehouse before it is closed, and nothing else may run on it.
// Done must be called after it is closed. An error leaves the old snapshot.
//
// Files that are missing or of another size are made anew.
func Publish(ctx context.Context, w *warehouse.Warehouse, folder, version string) (result Result, done func(), err error) {
	return publish(ctx, w, folder, version, false)
}

// PublishChecked is Publish that also reads every published file, and makes anew those whose content is damaged.
func PublishChecked(ctx context.Context, w *warehouse.Warehouse, folder, version string) (result Result, done func(), err error) {
	return publish(ctx, w, folder, version, true)
}

func publish(ctx context.Context, w *warehouse.Warehouse, folder, version string, thorough bool) (result Result, done func(), err error) {
	done = func() {}
	if folder == Off {
		return result, done, nil
	}
	fail := func(err error) (Result, func(), error) {
		left := "readers see the state before"
		if _, err := os.Stat(Snapshot(folder)); err != nil {
			left = "nothing is published, and readers take the warehouse itself"
		}
		return result, done, hint.Errorf("publish into %s: %w", folder, err).
			Hint(`%s; "tidemark warehouse publish" tries again, --publish DIR names another folder, "tidemark warehouse publish --off" ends it`, left)
	}
	old, err := readOwn(w.Path(), folder)
	if err != nil || old.IsOff {
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
	p := publication{w: w, file: file, mode: info.Mode().Perm(), size: info.Size(), now: now, folder: folder, old: old, schemas: map[string]string{}}
	p.damage = p.damaged(ctx, thorough)
	result.Damaged = p.damage.files
	if now == old.Snapshot && old.Stamp == queries.Stamp() && old.Warehouse == path && !p.damage.snapshot && len(p.damage.owners) == 0 {
		return result, done, remember(w.Path(), folder)
	}
	if err := remember(w.Path(), folder); err != nil {
		return fail(err)
	}
	release, err := prepare(folder, w.Path(), p.mode)
	if err != nil {
		return fail(err)
	}
	defer release()
	// Another process may have published here while this one waited for the lock: this warehouse or another.
	if p.old, err = readOwn(w.Path(), folder); err != nil {
		return result, done, err
	}
	p.damage = p.damaged(ctx, thorough)
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
	now    string // its state
	folder string
	old    Manifest
	damage damage

	schemas map[string]string // of relations, as Parquet files hold them; filled by schemaOf
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
	info, err := os.Stat(Snapshot(p.folder))
	if err != nil {
		return err
	}
	m.Bytes = info.Size()
	if err := m.write(p.folder, p.mode); err != nil {
		return err
	}
	if err := syncFolder(p.folder); err != nil {
		return err
	}
	return p.removeParts(m.Parts)
}

// SwitchOff removes all that is published in the folder, and says in it that
// nothing is to be published any more. Whoever may read the warehouse can read that.
func SwitchOff(warehouse, folder string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(warehouse); err == nil {
		mode = info.Mode().Perm()
	}
	release, err := prepare(folder, warehouse, mode)
	if err != nil {
		return err
	}
	defer release()
	if err := Clean(folder); err != nil {
		return err
	}
	return Manifest{IsOff: true}.write(folder, mode)
}

// SwitchOn undoes SwitchOff; the next Publish publishes.
func SwitchOn(folder string) error {
	if m, err := ReadManifest(folder); err != nil || !m.IsOff {
		return nil // Publish makes a damaged manifest anew
	}
	return os.Remove(manifestFile(folder))
}

// Forget makes the next Publish write everything anew, and keep nothing of what is
// there: it is of another warehouse.
func Forget(folder string) error {
	if m, err := ReadManifest(folder); err == nil && m.IsOff {
		return nil
	}
	return removeIfThere(manifestFile(folder))
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
