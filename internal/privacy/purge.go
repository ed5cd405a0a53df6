//go:build duckdb_arrow

package privacy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

// Purged is one source that was removed.
type Purged struct {
	Name, Kind string
	IngestedAt time.Time
	Rows       int64
}

// PurgeResult says what went and what the file weighed before and after.
type PurgeResult struct {
	Sources       []Purged
	Before, After int64 // bytes
}

// Purge removes the sources of these names (a name may be that of several
// together), or what was taken in before an instant; with both, what is called so
// and was taken in before. A database file keeps the bytes of rows that were
// deleted; so the file is written anew without them and takes the place of the old
// one, whole. Where nothing is to be removed, nothing changes.
func Purge(ctx context.Context, path string, before time.Time, names []string) (*PurgeResult, error) {
	result := &PurgeResult{}
	// Through a link, the link would be replaced and the data left where it was.
	path, err := resolved(path)
	if err != nil {
		return nil, err
	}
	// Opened for writing, the file is of this version and its log is in it.
	w, err := warehouse.Open(ctx, path, warehouse.Update)
	if err != nil {
		return nil, err
	}
	gone, err := toPurge(ctx, w, before, names, result)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err != nil || len(gone) == 0 {
		return result, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	result.Before = info.Size()
	if err := rewrite(ctx, path, gone); err != nil {
		return nil, fmt.Errorf("purge %s: %w; nothing was changed", path, err)
	}
	if info, err = os.Stat(path); err == nil {
		result.After = info.Size()
	}
	return result, err
}

// resolved follows links to the file itself; a file that is not there is left to
// be told of by who opens it.
func resolved(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	return target, err
}

func toPurge(ctx context.Context, w *warehouse.Warehouse, before time.Time, names []string, result *PurgeResult) (gone []int64, err error) {
	for _, name := range names {
		if _, err := kindOf(ctx, w, name); err != nil {
			return nil, err
		}
	}
	rows, err := w.DB().QueryContext(ctx, "select source_id, name, coalesce(collection, ''), kind, ingested_at, rows_kept from raw.sources order by ingested_at, name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var p Purged
		var collection string
		if err := rows.Scan(&id, &p.Name, &collection, &p.Kind, &p.IngestedAt, &p.Rows); err != nil {
			return nil, err
		}
		isNamed := len(names) == 0 || slices.Contains(names, p.Name) || collection != "" && slices.Contains(names, collection)
		isOld := before.IsZero() || p.IngestedAt.Before(before)
		if isNamed && isOld && !(len(names) == 0 && before.IsZero()) {
			gone, result.Sources = append(gone, id), append(result.Sources, p)
		}
	}
	return gone, rows.Err()
}

// rewrite makes a new warehouse beside the old one and copies into it all but what
// must go. While it is at work the old file is open for reading, so that nobody
// writes into it what the new one would lack.
func rewrite(ctx context.Context, path string, gone []int64) error {
	// A folder that nobody else may enter, so that nobody reads the copy while it has
	// not yet the old file's permissions.
	folder, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".purge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fresh := filepath.Join(folder, filepath.Base(path))
	w, err := warehouse.Open(ctx, fresh, warehouse.ReadWrite)
	if err == nil {
		err = os.Chmod(fresh, 0o600)
	}
	if err != nil {
		return err
	}
	isOpen := true
	shut := func() error {
		if !isOpen {
			return nil
		}
		isOpen = false
		return w.Close()
	}
	defer func() { _ = shut() }()
	// The old file is held until the new one is in place: who wrote into it meanwhile would write into what goes.
	old, err := warehouse.Open(ctx, path, warehouse.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	release, err := warehouse.BlockWriters(path)
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(path + ".wal"); err == nil {
		return hint.Errorf("another process has just written to it").Hint("try again when nothing else works on it")
	}
	if err := copyRest(ctx, w, path, gone); err != nil {
		return err
	}
	if err := shut(); err != nil {
		return err
	}
	if err := inPlace(fresh, path); err != nil {
		return err
	}
	return nil
}

func copyRest(ctx context.Context, w *warehouse.Warehouse, path string, gone []int64) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	db := w.DB()
	if _, err := db.ExecContext(ctx, "attach '"+strings.ReplaceAll(absolute, "'", "''")+"' as old (read_only)"); err != nil {
		return err
	}
	tables, err := listOf(ctx, w, `
		select table_name from duckdb_tables()
		where database_name = 'old' and schema_name = 'raw' and not internal order by table_name`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		columns, err := listOf(ctx, w, "select column_name from duckdb_columns() where database_name = 'old' and schema_name = 'raw' and table_name = $1 order by column_index", table)
		if err != nil {
			return err
		}
		stays, err := condition(table, columns, gone)
		if err != nil {
			return err
		}
		list := `"` + strings.Join(columns, `", "`) + `"`
		statement := fmt.Sprintf("insert into raw.%[1]q (%[2]s) select %[2]s from old.raw.%[1]q as theirs where %[3]s", table, list, stays)
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("raw.%s: %w", table, err)
		}
	}
	if _, err = db.ExecContext(ctx, "detach old"); err != nil {
		return err
	}
	return warehouse.Refresh(ctx, db)
}

// condition is the condition of the rows that stay.
func condition(table string, columns []string, gone []int64) (string, error) {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(gone), " ", ", "), "[]")
	switch {
	case slices.Contains(columns, "source_id"):
		return "theirs.source_id not in (" + list + ")", nil
	case slices.Contains(columns, "run_id"):
		return "theirs.run_id in (select runs.run_id from old.raw.runs where runs.source_id not in (" + list + "))", nil
	}
	return "", fmt.Errorf("raw.%s: has neither source_id nor run_id, so that it is not known whose its rows are", table)
}

// inPlace gives the new file the name of the old one, so that a crash leaves one of
// the two, whole.
func inPlace(fresh, path string) error {
	file, err := os.OpenFile(fresh, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		err = file.Chmod(info.Mode().Perm())
		if err != nil {
			file.Close()
			return err
		}
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
