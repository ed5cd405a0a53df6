//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/hint"

	"github.com/duckdb/duckdb-go/v2"
)

// Mode says what the warehouse is opened for.
type Mode int

const (
	// ReadWrite makes the file if there is none, and brings it up to date.
	ReadWrite Mode = iota
	// ReadOnly wants an existing file that is up to date, and changes nothing.
	ReadOnly
	// Update wants an existing file, and brings it up to date.
	Update
	// AnyVersion is ReadOnly, also for a file of another version: a query may not
	// find what it asks for.
	AnyVersion
)

// Memory is the path of a warehouse that is gone when it is closed.
const Memory = ":memory:"

// Warehouse is an open DuckDB file with everything in place.
type Warehouse struct {
	path      string
	db        *sql.DB
	isNew     bool // Open made the file
	isUnasked bool // see DiscardIfNew
	isRenewed bool // Open brought it to this version
	isOther   bool // it is of another version, and a reader takes it as it is
}

// Open opens the warehouse at path. Every error names the file, and errors that
// a user can do something about carry a hint.
func Open(ctx context.Context, path string, mode Mode) (*Warehouse, error) {
	if err := checkPath(path, mode); err != nil {
		return nil, err
	}
	isNew := false
	if mode == ReadWrite {
		var err error
		if isNew, err = create(path); err != nil {
			return nil, err
		}
	}
	db, err := connect(path, mode)
	if err != nil {
		return nil, openError(path, err)
	}
	if err := db.PingContext(ctx); err == nil && (mode == ReadWrite || mode == Update) {
		removeSpilled(path) // the file is locked now, so these are nobody's
		_ = RemoveLeftPurges(path)
	}
	w := &Warehouse{path: path, db: db, isNew: isNew}
	if err := Sparingly(ctx, db, func(ctx context.Context) error { return w.prepare(ctx, mode) }); err != nil {
		return nil, errors.Join(within(path, err), db.Close())
	}
	if mode == ReadOnly || mode == AnyVersion {
		if err := w.keepIn(ctx); err != nil {
			return nil, errors.Join(within(path, err), db.Close())
		}
	}
	return w, nil
}

// DB is the pool of connections; all of them see the same data, in memory too.
func (w *Warehouse) DB() *sql.DB { return w.db }

// Path is the file's path as Open got it.
func (w *Warehouse) Path() string { return w.path }

// DiscardIfNew says that the operation for which the file was made failed.
// Close then removes the file, unless it existed before Open or contains a
// source.
func (w *Warehouse) DiscardIfNew() { w.isUnasked = true }

// Close writes what is still in the log into the file and releases it.
func (w *Warehouse) Close() error {
	var removeErr error
	if w.WillBeDiscarded() {
		// While it is locked: a process that opened it between closing and
		// removing would write into a file without a name.
		_, checkpointErr := w.db.Exec("checkpoint") // removes the log
		removeErr = errors.Join(checkpointErr, os.Remove(w.path))
	}
	if err := errors.Join(removeErr, w.db.Close()); err != nil {
		return within(w.path, err)
	}
	return nil
}

// IsRenewed says that Open brought its views to this version of the program.
func (w *Warehouse) IsRenewed() bool { return w.isRenewed }

// IsOfOtherVersion says that a reader took the file as it is: its views are those of another version of the program.
func (w *Warehouse) IsOfOtherVersion() bool { return w.isOther }

// IsComputed says that of every run in it everything that can be asked is computed: no writer was killed before.
func (w *Warehouse) IsComputed(ctx context.Context) bool {
	var waiting bool
	err := w.db.QueryRowContext(ctx, "select exists (from raw.runs where run_id not in (select run_id from warehouse.kept))").Scan(&waiting)
	return err == nil && !waiting
}

// WillBeDiscarded says that Close will remove the file.
func (w *Warehouse) WillBeDiscarded() bool { return w.isNew && w.isUnasked && w.isEmpty() }

// isEmpty reports that no source is in the warehouse. If that cannot be asked,
// it is not empty.
func (w *Warehouse) isEmpty() bool {
	var sources int64
	err := w.db.QueryRow("select count(*) from raw.sources").Scan(&sources)
	return err == nil && sources == 0
}

// prepare brings the file up to date, or for a reader checks that it is.
func (w *Warehouse) prepare(ctx context.Context, mode Mode) error {
	if mode == ReadOnly || mode == AnyVersion {
		return w.checkStamp(ctx, mode)
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	changed, err := bringUpToDate(ctx, tx)
	if err != nil {
		return err
	}
	w.isRenewed = changed && !w.isNew
	if !changed {
		// The last writer may have been killed before its Refresh.
		if err := RefreshWithin(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return w.endLog(ctx)
}

// create makes the file if there is none, and reports whether it did. DuckDB
// first makes a file and fills it later. A second process that comes in between
// finds it empty and refuses it, and so does the first one when it returns. So
// the file is made under another name and linked to its own once it is
// complete.
func create(path string) (isNew bool, err error) {
	if path == Memory {
		return false, nil
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return false, nil // or an error that connect will say
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return false, hint.Errorf("warehouse %s: %w", path, err).Hint("name another file with --warehouse FILE")
	}
	defer os.RemoveAll(folder)
	whole := filepath.Join(folder, filepath.Base(path))
	if err := fill(whole); err != nil {
		return false, openError(path, err)
	}
	err = os.Link(whole, path)
	if errors.Is(err, os.ErrExist) {
		return false, nil // another process was quicker
	}
	if err != nil {
		err = os.Rename(whole, path) // a file system without links
	}
	if err != nil {
		return false, within(path, err)
	}
	return true, nil
}

// Format is that of a new warehouse, for "attach". With small blocks, hundreds of small tables take a third of the room and are written sooner;
// DuckDB 1.2 and later read it, and open it in two thirds of the time of the default format.
const Format = "(storage_version 'v1.2.0', block_size 65536)"

// fill makes an empty warehouse, or an empty database where the program contains
// none.
func fill(path string) error {
	if content := emptyFile(); content != nil {
		return os.WriteFile(path, content, 0o666)
	}
	db, err := connect(Memory, ReadWrite)
	if err != nil {
		return err
	}
	_, err = db.Exec("attach " + quoted(path) + " as made " + Format + "; detach made")
	return errors.Join(err, db.Close())
}

// checkPath refuses what DuckDB would refuse in its own words or, worse, would
// create.
// schemas of a warehouse: DuckDB calls an open file after its name, and does not know then which of the two a query means.
var schemas = []string{"raw", "seeds", "macros", "staging", "marts", "checks", "warehouse"}

func checkPath(path string, mode Mode) error {
	if path == Memory {
		return nil
	}
	if name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)); slices.Contains(schemas, strings.ToLower(name)) {
		return hint.Misuse("warehouse %s: DuckDB mistakes the name for its schema %s", path, name).Hint("name the file otherwise")
	}
	if strings.ContainsAny(path, "?%") {
		return hint.Errorf("warehouse %s: a path with ? or %% cannot be opened", path).Hint("name another one with --warehouse FILE")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return hint.Errorf("warehouse %s: is a folder", path).Hint("name a file with --warehouse FILE")
	case errors.Is(err, os.ErrNotExist) && mode != ReadWrite:
		return hint.Errorf("warehouse %s: no such file", path).Mark(os.ErrNotExist).
			Hint(`make it by taking in a trace: "tidemark ingest FILE", or name another one with --warehouse FILE`)
	case errors.Is(err, os.ErrNotExist):
		return checkFolder(path)
	case err != nil:
		return fmt.Errorf("warehouse %s: %w", path, errors.Unwrap(err))
	}
	return checkContent(path, info)
}

// checkContent refuses every file that does not start like a DuckDB file.
// DuckDB itself would open a CSV or a JSON file as a view of a database in
// memory, and whatever is written to that is lost.
func checkContent(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return hint.Errorf("warehouse %s: not a regular file", path).Hint("name another file with --warehouse FILE")
	}
	file, err := os.Open(path)
	if err != nil {
		return hint.Errorf("warehouse %s: %w", path, errors.Unwrap(err)).Hint("name another file with --warehouse FILE")
	}
	defer file.Close()
	var head [12]byte // a checksum of 8 bytes, and the mark
	if _, err := io.ReadFull(file, head[:]); err != nil || string(head[8:]) != "DUCK" {
		return foreign(path, "not a DuckDB file")
	}
	return nil
}

func checkFolder(path string) error {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return hint.Errorf("warehouse %s: no folder %s", path, folder).Hint("make the folder, or name another file with --warehouse FILE")
	}
	return nil
}

// connect opens the pool. Extensions are never fetched or loaded by themselves;
// those that are needed (json, icu, parquet) are linked in.
func connect(path string, mode Mode, settings ...string) (*sql.DB, error) {
	dsn := path
	if path != Memory {
		// An absolute path cannot be mistaken for a URL.
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		dsn = absolute
	}
	dsn += "?autoinstall_known_extensions=false&autoload_known_extensions=false"
	if (mode == ReadOnly || mode == AnyVersion) && path != Memory {
		dsn += "&access_mode=read_only"
	}
	for _, setting := range settings {
		dsn += "&" + setting
	}
	connector, err := duckdb.NewConnector(dsn, inUTC)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// inUTC makes instants look the same on every machine.
func inUTC(connection driver.ExecerContext) error {
	_, err := connection.ExecContext(context.Background(), "set TimeZone = 'UTC'", nil)
	return err
}
