//go:build duckdb_arrow

package published

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/store/warehouse"
)

// largeBytes is the size from which a warehouse has a spare snapshot. Below it, a
// copy of the whole file takes less than a tenth of a second.
var largeBytes int64 = 128 << 20

// snapshot puts a file with the warehouse's present rows in the place of
// latest.duckdb. The file that was there becomes the spare one of a large warehouse,
// unless it is of another version or Forget was called.
func (p publication) snapshot(ctx context.Context, stamp string) error {
	next := spare(p.folder)
	withoutSpare := errors.Join(removeIfThere(next+".old"), removeIfThere(next+".wal"))
	if p.size < largeBytes {
		return errors.Join(p.copyFile(Snapshot(p.folder)), removeIfThere(next), withoutSpare)
	}
	if p.old.Stamp != stamp || p.damage.snapshot {
		// Both are copied, so that each later change writes what is new and no more.
		return errors.Join(p.copyFile(Snapshot(p.folder)), removeIfThere(next), withoutSpare, p.copyFile(next))
	}
	if p.isFarBehind(next) || p.catchUp(ctx, next) != nil { // it is missing, or somebody still reads it
		if err := errors.Join(removeIfThere(next), withoutSpare, p.copyFile(next)); err != nil {
			return err
		}
	}
	return p.swap(next)
}

// copyFile copies the warehouse's bytes. DuckDB has written a checkpoint, and
// nothing has been changed since.
func (p publication) copyFile(path string) error {
	return replace(path, p.mode, func(to *os.File) error {
		if _, err := p.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(to, io.LimitReader(p.file, p.size)) // of two files: the kernel copies
		return err
	})
}

// isFarBehind says that most of the warehouse is not in a snapshot yet. To copy the file then costs a twentieth of writing its rows, and no memory.
func (p publication) isFarBehind(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Size() < p.size/2
}

// swap gives latest.duckdb and the spare file each other's name. Between the two
// renames the old snapshot has both names.
func (p publication) swap(next string) error {
	aside := spare(p.folder) + ".old"
	if err := removeIfThere(aside); err != nil {
		return err
	}
	err := os.Link(Snapshot(p.folder), aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return os.Rename(next, Snapshot(p.folder)) // a file system without links has no spare file
	}
	if err := os.Rename(next, Snapshot(p.folder)); err != nil {
		return err
	}
	if err != nil { // there was no snapshot before
		return nil
	}
	return os.Rename(aside, next)
}

// catchUp brings the spare file to the warehouse's present rows: it removes the rows
// of runs and sources that are gone or were computed again, and adds those that it
// lacks. It fails where another process has the file open.
func (p publication) catchUp(ctx context.Context, path string) error {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, fs.ErrInvalid) // through a link DuckDB would write into another file
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	conn, err := p.w.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	do := func(statement string) error {
		_, err := conn.ExecContext(ctx, statement)
		return err
	}
	if err := do("attach '" + strings.ReplaceAll(absolute, "'", "''") + "' as spare"); err != nil {
		return err
	}
	tables, err := p.tables(ctx)
	if err != nil {
		return errors.Join(err, do("detach spare"))
	}
	err = do("begin transaction")
	for _, statement := range catchingUp(tables) {
		if err == nil {
			err = do(statement)
		}
	}
	if err != nil {
		return errors.Join(err, do("rollback"), do("detach spare"))
	}
	return errors.Join(do("commit"), do("checkpoint spare"), do("detach spare"))
}

// table is a table of the warehouse and what its rows are of.
type table struct{ schema, name, key string }

// tables lists those whose rows a user's data decides. Seeds change with the program
// only.
func (p publication) tables(ctx context.Context) ([]table, error) {
	return warehouse.All(ctx, p.w.DB(), `
		select
			schema_name,
			table_name,
			coalesce(min(column_name) filter (where column_name in ('run_id', 'source_id', 'source_ids')), '')
		from duckdb_columns()
		where database_name = current_database()
			and schema_name in ('raw', 'staging', 'marts', 'warehouse')
			and (schema_name, table_name) in (select (schema_name, table_name) from duckdb_tables() where not internal)
		group by all
		order by all`, nil, func(t *table) []any { return []any{&t.schema, &t.name, &t.key} })
}

// whole tables are small and copied as they are: a calibration is of several runs,
// and the rows of warehouse.kept decide about those of other tables.
var whole = []string{"raw.calibrations", "warehouse.kept"}

// catchingUp are the statements that bring the spare file up to date. What a source
// or a run wrote never changes once it is in; what is computed of a run has another
// time in warehouse.kept when it was computed again.
func catchingUp(tables []table) (statements []string) {
	add := func(format string, values ...any) { statements = append(statements, fmt.Sprintf(format, values...)) }
	add("create or replace temporary table gone_sources as select source_id from (select source_id, ingested_at from spare.raw.sources except select source_id, ingested_at from raw.sources)")
	add("create or replace temporary table new_sources as select source_id from (select source_id, ingested_at from raw.sources except select source_id, ingested_at from spare.raw.sources)")
	add("create or replace temporary table gone_runs as select run_id from spare.raw.runs where source_id in (from gone_sources)")
	add("create or replace temporary table new_runs as select run_id from raw.runs where source_id in (from new_sources)")
	add("create or replace temporary table gone_rows as select run_id from (select run_id, computed_at from spare.warehouse.kept except select run_id, computed_at from warehouse.kept)")
	add("create or replace temporary table new_rows as select run_id from (select run_id, computed_at from warehouse.kept except select run_id, computed_at from spare.warehouse.kept)")
	for _, t := range tables {
		name := t.schema + "." + t.name
		changed := "rows"
		switch {
		case slices.Contains(whole, name):
			add("delete from spare.%s; insert into spare.%s by name from %s", name, name, name)
			continue
		case t.key == "": // of the program, not of its data, or what is known of GPUs and kernels, below
			continue
		case t.key == "source_ids", name == "raw.decisions": // worked out from several sources, and replaced when it is worked out again; decided on a run after it went in
			add("delete from spare.%s as each where hash(each) not in (select hash(each) from %s as each)", name, name)
			add("insert or replace into spare.%s by name select * from %s as each where hash(each) not in (select hash(each) from spare.%s as each)", name, name, name)
			continue
		case t.key == "source_id":
			changed = "sources"
		case t.schema == "raw":
			changed = "runs"
		}
		add("delete from spare.%s where %s in (from gone_%s)", name, t.key, changed)
		add("insert into spare.%s by name select * from %s where %s in (from new_%s)", name, name, t.key, changed)
	}
	// What is known of GPUs and kernels is of all that was taken in together; the record comes last, because it says whether the others differ.
	for _, name := range warehouse.Known() {
		const differs = "(from spare.warehouse.known) is distinct from (from warehouse.known)"
		add("delete from spare.%s where %s", name, differs)
		add("insert into spare.%s by name select * from %s where not exists (from spare.%s)", name, name, name)
	}
	return statements
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
