//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// Purged is one source that was removed.
type Purged struct {
	Name, Kind string
	IngestedAt time.Time
	Rows       int64
}

// PurgeResult says what was removed and how large the file was before and
// after.
type PurgeResult struct {
	Sources       []Purged
	Before, After int64 // bytes
}

// Purge removes the sources of these names (a name may be that of a
// collection), or those ingested before an instant; with both given, sources
// must match both. A database file keeps the bytes of deleted rows, so the file
// is rewritten without them and replaces the old one in one step. If there is
// nothing to remove, nothing changes.
//
// withdraw removes what is published. It is called when the new file is complete, before
// it takes the old one's place: who is killed in between leaves no copy of rows that are
// gone from the warehouse.
func Purge(ctx context.Context, path string, before time.Time, names []string, withdraw func()) (*PurgeResult, error) {
	result := &PurgeResult{}
	// A rename onto a symbolic link would replace the link and leave the data
	// where it was.
	path, err := resolved(path)
	if err != nil {
		return nil, err
	}
	// Opening for writing brings the file to this version and its log into the
	// file.
	w, err := warehouse.Open(ctx, path, warehouse.Update)
	if err != nil {
		return nil, err
	}
	leftErr := warehouse.RemoveLeftPurges(path)
	gone, err := toPurge(ctx, w, before, names, result)
	if err = cmp.Or(err, w.Close()); err == nil && leftErr != nil {
		err = hint.Errorf("purge %s: what a killed purge left next to it cannot be removed: %w", path, leftErr).Hint("remove the folder yourself: it holds rows")
	}
	if err != nil || len(gone) == 0 {
		return result, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	result.Before = info.Size()
	if err := rewrite(ctx, path, gone, withdraw); warehouse.IsDiskFull(err) {
		return nil, hint.Errorf("purge %s: %w; nothing was changed", path, err).
			Hint("make room: purge writes the warehouse anew beside the old one, up to %.0f MB", float64(result.Before)/1e6)
	} else if err != nil {
		return nil, fmt.Errorf("purge %s: %w; nothing was changed", path, err)
	}
	if info, err = os.Stat(path); err == nil {
		result.After = info.Size()
	}
	return result, err
}

// resolved follows links to the file itself. A file that does not exist is left
// to warehouse.Open, which has the better message.
func resolved(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	return target, err
}

// toPurge finds the sources to remove. A name that no source has is an error,
// so that a typing mistake does not look like success.
func toPurge(ctx context.Context, w *warehouse.Warehouse, before time.Time, names []string, result *PurgeResult) (gone []int64, err error) {
	for _, name := range names {
		if _, err := kindOf(ctx, w, name); err != nil {
			return nil, err
		}
	}
	sources := "select source_id, name, coalesce(collection, ''), kind, ingested_at, rows_kept from raw.sources order by ingested_at, name"
	err = warehouse.Each(ctx, w.DB(), sources, nil, func(scan func(...any) error) error {
		var id int64
		var p Purged
		var collection string
		if err := scan(&id, &p.Name, &collection, &p.Kind, &p.IngestedAt, &p.Rows); err != nil {
			return err
		}
		isNamed := len(names) == 0 || slices.Contains(names, p.Name) || collection != "" && slices.Contains(names, collection)
		isOld := before.IsZero() || p.IngestedAt.Before(before)
		if isNamed && isOld && !(len(names) == 0 && before.IsZero()) {
			gone, result.Sources = append(gone, id), append(result.Sources, p)
		}
		return nil
	})
	return gone, err
}

// rewrite makes a new warehouse next to the old one and copies everything into
// it except what must go. Meanwhile it blocks writers of the old file: they
// would write into a file that is about to be replaced.
func rewrite(ctx context.Context, path string, gone []int64, withdraw func()) error {
	// The old file stays open and locked until the new one is in place, and before the
	// new one's folder is made: see warehouse.RemoveLeftPurges.
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
	// In a folder that nobody else may enter, so that nobody reads the copy
	// before it has the old file's permissions.
	folder, err := os.MkdirTemp(filepath.Dir(path), warehouse.PurgeFolder(path))
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
	shut := sync.OnceValue(w.Close)
	defer func() { _ = shut() }()
	if _, err := os.Stat(path + ".wal"); err == nil {
		return hint.Errorf("another process has just written to it").Hint("try again when nothing else works on it")
	}
	if err := copyRest(ctx, w, path, gone); err != nil {
		return err
	}
	if err := shut(); err != nil {
		return err
	}
	if withdraw != nil {
		withdraw()
	}
	return inPlace(fresh, path)
}

// copyRest copies the raw tables. Everything else is derived from them and made
// again.
func copyRest(ctx context.Context, w *warehouse.Warehouse, path string, gone []int64) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	db := w.DB()
	if _, err := db.ExecContext(ctx, "attach '"+strings.ReplaceAll(absolute, "'", "''")+"' as old (read_only)"); err != nil {
		return err
	}
	tables, err := warehouse.Values[string](ctx, w.DB(), `
		select table_name from duckdb_tables()
		where database_name = 'old' and schema_name = 'raw' and not internal order by table_name`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		columns, err := warehouse.Values[string](ctx, w.DB(), "select column_name from duckdb_columns() where database_name = 'old' and schema_name = 'raw' and table_name = $1 order by column_index", table)
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

// condition is the SQL condition of the rows that stay. A table whose rows
// cannot be traced to a source is an error: its rows might be those that must
// go.
func condition(table string, columns []string, gone []int64) (string, error) {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(gone), " ", ", "), "[]")
	ofSource := "theirs.source_id not in (" + list + ")"
	ofRun := "theirs.run_id in (select runs.run_id from old.raw.runs where runs.source_id not in (" + list + "))"
	switch {
	case slices.Contains(columns, "source_id") && slices.Contains(columns, "run_id"):
		return ofSource + " and " + ofRun, nil
	case slices.Contains(columns, "source_id"):
		return ofSource, nil
	case slices.Contains(columns, "source_ids"): // what was worked out from several
		return "not list_has_any(theirs.source_ids, [" + list + "]::bigint[])", nil
	case slices.Contains(columns, "run_id"):
		return ofRun, nil
	}
	return "", fmt.Errorf("raw.%s: has no source_id, source_ids or run_id, so nothing says which source its rows belong to", table)
}

// inPlace renames the new file to the old one's name. File and folder are
// synced, so that a crash leaves one of the two, complete.
func inPlace(fresh, path string) error {
	file, err := os.OpenFile(fresh, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		if err := file.Chmod(info.Mode().Perm()); err != nil {
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
