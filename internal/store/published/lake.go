//go:build duckdb_arrow

package published

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// rowsPerPart is how many rows are written into one file without looking at its
// size. Packed rows take less than 100 bytes, so that the file stays below 512 MB.
const rowsPerPart = 5_000_000

// partBytes is the memory that DuckDB has while it writes a part: the place of each row in order of time is found among all rows of a
// trace, with their block ids, of which it then writes into files what does not fit.
var partBytes = 472<<20 + runtime.NumCPU()*64<<20

// longBytes is that memory where rows have many block ids, for DuckDB's one thread. Two threads hold twice as much of what they write
// beside it, and are not done earlier: 665,453 rounds with 134 million ids peak at 534 MB with one, 878 MB with two, 37 s either way.
const longBytes = 400 << 20

// owner is a run, a source, or a week of a service: the lake has parts for each.
type owner struct {
	Column   string `json:"column"`         // run_id, source_id or service_week
	ID       string `json:"id"`             // of a week: chat/2026-W47; no name of a service has a slash
	Computed string `json:"computed_at"`    // when its rows were computed, or the source taken in; of a week, what its report's document hashes to
	Date     string `json:"date,omitempty"` // the day on which a run began; empty for others
	name     string // of a source
	rows     int64  // that a source was read as; 0 of others
}

func (o owner) key() string { return o.Column + "=" + o.ID }

// state changes when the owner's parts have to be written again.
func (o owner) state() string { return o.key() + " " + o.Computed + " " + o.Date }

// partition are the folders of the owner's parts, as Hive names them. No folder is called like a column of the files: pyarrow and pandas
// make a dictionary of what a path says, and refuse a column that is one in the path and a text in the file.
func (o owner) partition() string {
	switch o.Column {
	case "run_id":
		return filepath.Join("run_date="+o.Date, "run="+folderName(o.ID))
	case "service_week":
		service, week, _ := strings.Cut(o.ID, "/")
		return filepath.Join("service_name="+folderName(service), "iso_week="+week)
	}
	return "source=" + o.ID
}

// folderName is the id, percent-encoded; of one that no file system would take, its beginning and a hash.
func folderName(id string) string {
	const most = 160 // of the 255 bytes that a name may have: "service_name=" and ".tmp" stand beside it
	name := url.PathEscape(id)
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return strings.TrimRight(name[:most-40], "%0123456789ABCDEF") + "-" + hex.EncodeToString(sum[:16])
}

// addParts writes the parts that the lake lacks. It returns all that the lake then has
// to have, and of which runs and sources that is.
func (p publication) addParts(ctx context.Context) (owners []owner, parts []Part, err error) {
	if owners, err = p.owners(ctx); err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	if p.old.Stamp == queries.Stamp() {
		for _, o := range p.old.Owners {
			known[o.state()] = true
		}
	}
	isWanted := map[string]bool{}
	var lacking []owner
	for _, o := range owners {
		if known[o.state()] && !p.damage.owners[o.key()+o.Computed] {
			isWanted[o.key()+o.Computed] = true
		} else {
			lacking = append(lacking, o)
		}
	}
	for _, part := range p.old.Parts {
		if isWanted[part.Key+part.Computed] {
			parts = append(parts, part)
		}
	}
	for _, column := range []string{"run_id", "source_id", "service_week"} {
		of := slices.DeleteFunc(slices.Clone(lacking), func(o owner) bool { return o.Column != column })
		counted, err := p.countKept(ctx, of)
		if err != nil {
			return nil, nil, err
		}
		for _, relation := range published(column) {
			made, err := p.addRelation(ctx, relation, of, counted[relation])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", relation, err)
			}
			parts = append(parts, made...)
		}
	}
	return owners, parts, nil
}

// addRelation writes the parts of one relation. Unless the rows that owners have are counted already, it asks once which have any
// at all: most relations have none of most sources.
func (p publication) addRelation(ctx context.Context, relation string, owners []owner, counts map[string]int64) (parts []Part, err error) {
	if len(owners) == 0 {
		return nil, nil
	}
	if counts == nil {
		if counts, err = p.countsOf(ctx, relation, owners); err != nil {
			return nil, err
		}
	}
	for _, o := range owners {
		if counts[o.ID] == 0 {
			continue
		}
		made, err := p.writeParts(ctx, relation, o, counts[o.ID])
		if err != nil {
			return nil, err
		}
		parts = append(parts, made...)
	}
	return parts, nil
}

// notCounted stands for the rows of an owner that fit into one part, however many they are.
const notCounted = -1

// mostCounted runs are named in one statement once for each table.
const mostCounted = 200

// countKept are the rows that runs have in kept tables, by table and run, asked in one statement: one for each of 60 tables cost a small run as
// much as writing its parts. Of other owners, and of very many, there are none.
func (p publication) countKept(ctx context.Context, owners []owner) (map[string]map[string]int64, error) {
	if len(owners) == 0 || len(owners) > mostCounted || owners[0].Column != "run_id" {
		return nil, nil
	}
	run, grouped := "run_id", " group by run_id"
	if len(owners) == 1 { // then there is nothing to group
		run, grouped = owners[0].literal(), ""
	}
	counts := map[string]map[string]int64{}
	var each []string
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			if relation := file.Relation(); file.IsKept() {
				counts[relation] = map[string]int64{}
				each = append(each, fmt.Sprintf("select '%s', %s, count(*) from %[1]s where %[3]s%[4]s", relation, run, areOf(relation, owners...), grouped))
			}
		}
	}
	err := warehouse.Each(ctx, p.w.DB(), strings.Join(each, "\nunion all\n"), nil, func(scan func(...any) error) error {
		var relation, run string
		var count int64
		if err := scan(&relation, &run, &count); err != nil {
			return err
		}
		counts[relation][run] = count
		return nil
	})
	return counts, err
}

// countsOf are the rows that each owner has. Of a single source they are not counted: its rows would be worked out twice.
func (p publication) countsOf(ctx context.Context, relation string, owners []owner) (map[string]int64, error) {
	if one := owners[0]; len(owners) == 1 && 0 < one.rows && one.rows <= rowsPerPart {
		return map[string]int64{one.ID: notCounted}, nil
	}
	return warehouse.Pairs[string, int64](ctx, p.w.DB(), fmt.Sprintf("select (%s)::varchar, count(*) from %s where %s group by all", inSQL(owners[0].Column), relation, areOf(relation, owners...)))
}

// inSQL is the id of a row's owner.
func inSQL(column string) string {
	if column == "service_week" {
		return "service || '/' || week"
	}
	return column
}

// published are the relations that the lake has of a run, of a source, or of a week of a service.
func published(column string) (relations []string) {
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			if column == "run_id" && (file.IsKept() || file.IsPublishedPerRun()) || column == "source_id" && file.IsPublishedPerSource() || column == "service_week" && file.IsPublishedPerWeek() {
				relations = append(relations, file.Relation())
			}
		}
	}
	return relations
}

// areOf is the condition for a relation's rows of some owners, all runs, all sources or all weeks.
// Staging views that number a trace's rows do so by the source's name: only with the name in the
// condition does DuckDB leave the rows of all other traces unread.
func areOf(relation string, owners ...owner) string {
	var ids, names []string
	for _, o := range owners {
		ids, names = append(ids, o.literal()), append(names, literal(o.name))
	}
	condition := fmt.Sprintf("%s in (%s)", inSQL(owners[0].Column), strings.Join(ids, ", "))
	if owners[0].Column == "source_id" && hasSourceName()[relation] {
		condition += fmt.Sprintf(" and source_name in (%s)", strings.Join(names, ", "))
	}
	return condition
}

// hasSourceName says which staging views have a column source_name, the name of their source. In a mart it may name another source:
// that of a search for capacity is the trace.
var hasSourceName = sync.OnceValue(func() map[string]bool {
	has := map[string]bool{}
	for _, file := range queries.In("staging", ".sql") {
		_, has[file.Relation()] = queries.ReadHeader(file.Text).Columns["source_name"]
	}
	return has
})

// literal is the owner's id in SQL.
func (o owner) literal() string {
	if o.Column == "source_id" {
		return o.ID // a number
	}
	return literal(o.ID)
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (p publication) owners(ctx context.Context) ([]owner, error) {
	return warehouse.All(ctx, p.w.DB(), `
		select
			'run_id',
			kept.run_id,
			kept.computed_at::varchar,
			coalesce(strftime(runs.started_at, '%Y-%m-%d'), 'unknown'),
			'',
			0
		from warehouse.kept
		inner join staging.runs on runs.run_id = kept.run_id
		union all
		select 'source_id', source_id::varchar, ingested_at::varchar, '', name, rows_kept
		from raw.sources
		where kind <> 'run'
		union all
		select 'service_week', service || '/' || week, md5(document::varchar), '', '', 0
		from raw.service_weeks
		order by all`, nil, func(o *owner) []any { return []any{&o.Column, &o.ID, &o.Computed, &o.Date, &o.name, &o.rows} })
}

// writeParts writes the rows of one relation and owner: one part, or several where
// there are many rows.
func (p publication) writeParts(ctx context.Context, relation string, o owner, count int64) (parts []Part, err error) {
	folder := filepath.Join("lake", relation, o.partition())
	whole := filepath.Join(p.folder, folder)
	temporary := whole + ".tmp"
	if err := os.MkdirAll(filepath.Dir(whole), folderMode(p.mode)); err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	rows := fmt.Sprintf("from %s where %s", relation, areOf(relation, o))
	to, options := filepath.Join(temporary, "part.parquet"), "format parquet, compression zstd"
	schema, err := p.schemaOf(ctx, relation)
	if err != nil {
		return nil, err
	}
	options += fmt.Sprintf(", kv_metadata {'ARROW:schema': %s}", literal(schema))
	if count > rowsPerPart {
		to, options = temporary, options+", file_size_bytes '450MB', filename_pattern 'part-{i}', overwrite_or_ignore true"
	}
	memory := partBytes
	if p.areLong(ctx, relation, o) {
		options += ", row_group_size 8192"
		memory = min(memory, longBytes)
		threads, err := p.oneThread(ctx)
		if err != nil {
			return nil, err
		}
		defer threads()
	}
	err = p.writing(ctx, count, memory, func() error {
		if err := errors.Join(os.RemoveAll(temporary), os.Mkdir(temporary, folderMode(p.mode))); err != nil {
			return err
		}
		_, err := p.w.DB().ExecContext(ctx, fmt.Sprintf("copy (%s) to '%s' (%s)", rows, strings.ReplaceAll(to, "'", "''"), options))
		return err
	})
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(temporary)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		part := Part{
			Relation: relation, Key: o.key(), Computed: o.Computed,
			Path: filepath.ToSlash(filepath.Join(folder, file.Name())), Rows: count,
		}
		path := filepath.Join(temporary, file.Name())
		if len(files) == 1 && count != notCounted {
			// all rows are in it
		} else if err := p.w.DB().QueryRowContext(ctx, "select coalesce(sum(num_rows), 0)::bigint from parquet_file_metadata(?)", path).Scan(&part.Rows); err != nil {
			return nil, err
		}
		if part.Rows == 0 && count == notCounted { // it is the only part
			return nil, nil
		}
		if part.Bytes, part.SHA256, err = p.seal(path); err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if err := os.RemoveAll(whole); err != nil { // of a publication that was killed, or computed again
		return nil, err
	}
	return parts, os.Rename(temporary, whole)
}

// fewRows are no reason to limit DuckDB's memory, which takes three statements.
const fewRows = 2_000

// writing calls write with so much memory, unless what it writes is known to be little.
func (p publication) writing(ctx context.Context, rows int64, memory int, write func() error) error {
	if 0 < rows && rows < fewRows {
		return write()
	}
	return warehouse.InLimitedMemory(ctx, p.w.DB(), memory, write)
}

// areLong says that rows have so many block ids that they are written in smaller groups: a group is held whole, and DuckDB's
// own of 122,880 rows of agents take 200 MB, for each of its threads. The raw rows tell: the view would number them first.
func (p publication) areLong(ctx context.Context, relation string, o owner) bool {
	const long = 32
	if relation != "staging.arrivals" {
		return false
	}
	var mean float64
	err := p.w.DB().QueryRowContext(ctx, "select coalesce(avg(len(blocks)), 0) from raw.arrivals where "+areOf("raw.arrivals", o)).Scan(&mean)
	return err == nil && mean > long
}

// oneThread leaves DuckDB one thread until restore is called, and gives back what it and Go kept of the work before, as of reading a
// large trace: two limits in one process would add up.
func (p publication) oneThread(ctx context.Context) (restore func(), err error) {
	var before int
	if err := p.w.DB().QueryRowContext(ctx, "select current_setting('threads')").Scan(&before); err != nil {
		return nil, err
	}
	restore = func() {
		_, _ = p.w.DB().ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("set threads = %d", before))
	}
	debug.FreeOSMemory()
	_ = warehouse.InLimitedMemory(ctx, p.w.DB(), 64<<20, func() error { return nil })
	return restore, p.w.OneThread(ctx)
}

// schemaOf is what Arrow's readers look for in a file's metadata: its schema, whose fields have unit and comment. DuckDB writes none.
func (p publication) schemaOf(ctx context.Context, relation string) (text string, err error) {
	if text, is := p.schemas[relation]; is {
		return text, nil
	}
	err = p.w.Arrow(ctx, func(from *duckdb.Arrow) error {
		rows, err := from.QueryContext(ctx, fmt.Sprintf("from %s limit 0", relation))
		if err != nil {
			return err
		}
		defer rows.Release()
		var message bytes.Buffer
		if err := ipc.NewWriter(&message, ipc.WithSchema(warehouse.Described(rows.Schema(), commentsOn(relation)))).Close(); err != nil {
			return err
		}
		text = base64.StdEncoding.EncodeToString(message.Bytes())
		p.schemas[relation] = text
		return nil
	})
	return text, err
}

// commentsOn are the comments on a relation's columns.
func commentsOn(relation string) map[string]string {
	schema, _, _ := strings.Cut(relation, ".")
	for _, file := range queries.In(schema, ".sql") {
		if file.Relation() == relation {
			return queries.ReadHeader(file.Text).Columns
		}
	}
	return nil
}

// seal gives a part the warehouse's permissions, syncs it, and hashes it.
func (p publication) seal(path string) (bytes int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	hash := sha256.New()
	if bytes, err = io.Copy(hash, file); err != nil {
		return 0, "", err
	}
	return bytes, hex.EncodeToString(hash.Sum(nil)), errors.Join(file.Chmod(p.mode), file.Sync())
}

// removeParts removes every file of the lake that is not among the parts, and the
// folders that are empty then.
func (p publication) removeParts(parts []Part) error {
	isPart := map[string]bool{}
	for _, part := range parts {
		isPart[part.Path] = true
	}
	var folders []string
	err := filepath.WalkDir(lake(p.folder), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() {
			folders = append(folders, path)
			return nil
		}
		within, err := filepath.Rel(p.folder, path)
		if err == nil && !isPart[filepath.ToSlash(within)] {
			err = os.Remove(path)
		}
		return err
	})
	for i := range folders { // those inside others first
		_ = os.Remove(folders[len(folders)-1-i]) // fails where it is not empty
	}
	return err
}
