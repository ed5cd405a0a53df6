//go:build duckdb_arrow

package published

import (
	"os"
	"path/filepath"
	"strings"

	"tidemark/internal/hint"
)

// relativeTo is a warehouse's path as a folder's manifest has it: relative, so that
// both may be moved together, and without the names of folders that hold both.
func relativeTo(folder, warehouse string) (string, error) {
	from, err := resolved(folder)
	if err != nil {
		return "", err
	}
	to, err := resolved(warehouse)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(from, to)
	return filepath.ToSlash(relative), err
}

// resolved is the absolute path without symbolic links. The last element need not exist.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path, nil // the folder does not exist either, so that nothing is a link
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

// otherWarehouse is the path of the warehouse that is published in the folder, if it is
// another one than this and still exists. One that is gone was moved or removed, and the
// folder is free. A new file under the old path is the same warehouse to a reader.
func (m Manifest) otherWarehouse(folder, warehouse string) (other string, is bool) {
	if m.Warehouse == "" { // nothing is published, or an older version has
		return "", false
	}
	from, err := resolved(folder)
	if err != nil {
		return "", false
	}
	other = filepath.Join(from, filepath.FromSlash(m.Warehouse))
	there, err := os.Stat(other)
	if err != nil {
		return "", false
	}
	ours, err := os.Stat(warehouse)
	return other, err != nil || !os.SameFile(there, ours)
}

// CheckOwner refuses a folder in which another warehouse is published.
func CheckOwner(warehouse, folder string) error {
	_, err := readOwn(warehouse, folder)
	return err
}

// readOwn is the manifest of a folder that is this warehouse's, or nobody's. A damaged one counts as empty where the
// warehouse remembers the folder as its own, so that everything in it is made anew.
func readOwn(warehouse, folder string) (Manifest, error) {
	m, err := ReadManifest(folder)
	if err != nil {
		if isPlace(warehouse, folder) {
			return Manifest{}, nil
		}
		return m, hint.Errorf("publish into %s: nobody can say of which warehouse it is: %w", folder, err).
			Hint(`to give it to %s, run "tidemark warehouse publish --replace" on it`, warehouse)
	}
	if other, is := m.otherWarehouse(folder, warehouse); is {
		return m, hint.Errorf("publish into %s: it holds what is published of another warehouse, %s", folder, other).
			Hint(`name another folder with --publish DIR (or $TIDEMARK_PUBLISH); to give this one to %s, run "tidemark warehouse publish --replace" on it`, warehouse)
	}
	return m, nil
}

// SnapshotOf is the warehouse of which a file is a published snapshot.
func SnapshotOf(path string) (warehouse string, is bool) {
	path, err := resolved(path)
	if name := filepath.Base(path); err != nil || name != "latest.duckdb" && name != "spare.duckdb" {
		return "", false
	}
	folder := filepath.Dir(path)
	if m, err := ReadManifest(folder); err == nil && m.Warehouse != "" {
		return filepath.Join(folder, filepath.FromSlash(m.Warehouse)), true
	}
	if _, err := os.Stat(filepath.Join(folder, ".lock")); err != nil {
		return "", false
	}
	return strings.TrimSuffix(folder, ".published") + ".duckdb", true // the manifest is damaged
}
