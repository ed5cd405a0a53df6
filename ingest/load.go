package ingest

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

// readerVersion says by which state of the readers a source was read. It grows
// when the same file would come out differently.
const readerVersion = 3

func (m *many) loadOne(ctx context.Context, file found) (Result, error) {
	began := time.Now()
	var result Result
	var err error
	switch {
	case file.isRun:
		result, err = loadRun(ctx, m.w, file, m.opts)
	case file.isResults:
		result, err = m.loadFolder(ctx, file)
	default:
		result, err = m.loadFile(ctx, file)
	}
	if err == nil && result.AlreadyKnown && m.opts.Name != "" && m.opts.Name != result.Name {
		return Result{}, hint.Misuse("it is in the warehouse already, as %s, and has no second name", result.Name).
			Hint("use %s, or remove it first: tidemark purge %s", result.Name, result.Name)
	}
	if file.inFolder && m.opts.Format == "" && (errors.Is(err, errUnknownFormat) || errors.Is(err, errEmpty)) {
		return Result{Path: file.path, Notes: []string{"passed over: " + err.Error()}}, nil
	}
	result.Path = file.path
	result.Seconds = time.Since(began).Seconds()
	return result, err
}

// errBeingRead is of a file whose rows another file of the same Load has that is being taken in.
var errBeingRead = errors.New("the same rows are being read")

var errEmpty = hint.Errorf("the file is empty").Hint("check where it came from")

// loadFile takes in one file.
func (m *many) loadFile(ctx context.Context, file found) (Result, error) {
	w, opts := m.w, m.opts
	in, err := open(ctx, file.path, opts.Stdin)
	if err != nil {
		return Result{}, err
	}
	defer in.close()
	known, err := knownFile(ctx, w.DB(), file, in.size)
	if err != nil {
		return Result{}, err
	}
	// Whoever insists on another format is told what the file is.
	if known != nil && (opts.Format == "" || opts.Format == known.format) {
		return known.result(), nil
	}
	lines := newBlocks(in, blockSize, lineLimit)
	first, err := lines.next()
	if errors.Is(err, io.EOF) {
		return Result{}, errEmpty
	}
	if err != nil {
		return Result{}, err
	}
	if len(bytes.TrimSpace(first.data)) == 0 && !first.overlong && lines.ended {
		return Result{}, errEmpty
	}
	doc := &document{path: file.path, first: first, rest: lines, refusesText: opts.RefuseText, columns: opts.Columns}
	h := newHead(first.data, doc.base())
	h.said = opts.Columns
	format, why, err := recognise(h, opts.Format)
	if err != nil && first.overlong { // its end is nearer than a bomb's
		_, err = lines.next()
		if err == nil || errors.Is(err, io.EOF) {
			_, _, err = recognise(h, opts.Format)
		}
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{Name: opts.Name, Format: format.name, FormatWhy: why}
	if result.Name == "" {
		result.Name = file.name
	}
	l := &loading{file: file, in: in, format: format, opts: opts, names: m.names, sums: m.sums, result: &result, doc: doc, progress: m.meter.of()}
	if format.open != nil {
		if l.trace, doc.first, err = format.open(first); err != nil {
			return Result{}, err
		}
	}
	if in.size > 0 { // a stream may yet turn out to be known
		if err := l.name(ctx, pool{w.DB()}); err != nil {
			return Result{}, err
		}
	}
	err = w.Write(ctx, func(tx *warehouse.Tx) error { return l.run(ctx, tx) })
	if errors.As(err, &known) {
		return known.result(), nil
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if short := sourceName(file.path); opts.Name == "" && result.Name != short {
		result.Notes = append(result.Notes, fmt.Sprintf("called %s, because several files are called %s", result.Name, short))
	}
	if err == nil && in.last != '\n' && h.isLinesOfText() {
		result.Notes = append(result.Notes, noLastEnd)
	}
	return result, err
}

// noLastEnd is all that can be seen of a table that was cut inside its last number. Whole files lack the end too.
const noLastEnd = "the last line has no line end: if the file was cut, its last value may be too"

// loading is one file on its way into the warehouse.
type loading struct {
	file   found
	in     *input
	format format
	doc    *document
	trace  *trace // of a format of lines; nil for any other
	opts   Options
	names  *names
	sums   *names
	result *Result

	progress func(bytes, rows int64) // nil where nobody asks
}

// name settles what the source is called.
func (l *loading) name(ctx context.Context, db rowQuerier) (err error) {
	l.result.Name, err = l.names.free(ctx, db, l.file, l.result.Name)
	return err
}

func (l *loading) run(ctx context.Context, tx *warehouse.Tx) error {
	id := l.file.source
	take := l.document
	if l.trace != nil {
		take = l.stream
	}
	sum, about, err := take(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := l.accept(sum, about); err != nil {
		return err
	}
	sums, err := l.in.sums()
	if err != nil {
		return err
	}
	if known, err := knownSums(ctx, tx, sums); err != nil || known != nil {
		if err == nil {
			err = known
		}
		return err
	}
	if !l.file.isAfter && !l.sums.claim(sums.content, l.file.path) {
		return errBeingRead
	}
	if err := l.name(ctx, tx); err != nil {
		return err
	}
	if err := l.noteDuplicates(ctx, tx, id, sum); err != nil {
		return err
	}
	if err := l.measureReuse(ctx, tx, id); err != nil {
		return err
	}
	if err := l.insertSource(ctx, tx, id, sums.content, l.in.disk.bytes.Load(), sum, about); err != nil {
		return err
	}
	if err := l.insertManifest(ctx, tx, id, sums.disk); err != nil {
		return err
	}
	return insertRejects(ctx, tx, id, sum.rejects)
}

// stream sends a file of lines down the road.
func (l *loading) stream(ctx context.Context, tx *warehouse.Tx, id int64) (tally, about, error) {
	t := l.trace
	road := start(ctx, t.parser, l.doc.rest, l.doc.first, l.told())
	view := fmt.Sprintf("arriving_%d", id)
	err := tx.Stream(ctx, road, view, fmt.Sprintf(
		"insert into raw.arrivals (source_id, %s) select %d, %s from %s", t.columns, id, t.columns, view))
	road.close()
	if road.err != nil {
		err = road.err // DuckDB repeats it in its own words
	}
	if err != nil {
		return tally{}, about{}, err
	}
	l.result.Notes = append(l.result.Notes, t.notes(road.tally)...)
	return road.tally, about{originAt: t.originAt, timeUnit: t.timeUnit, zone: t.zone, blockTokens: t.blockTokens}, nil
}

// document lets the format's own reader take the file.
func (l *loading) document(ctx context.Context, tx *warehouse.Tx, id int64) (tally, about, error) {
	out := newRows(ctx, tx, id, l.doc)
	out.told = l.told()
	defer out.close()
	err := l.format.read(l.doc, out)
	if err == nil {
		err = out.end()
	}
	l.result.Notes = append(l.result.Notes, out.notes...)
	return out.sum, out.about, err
}

func (l *loading) told() func(tally) {
	if l.progress == nil {
		return nil
	}
	return func(sum tally) { l.progress(l.in.disk.bytes.Load(), sum.kept) }
}

// accept decides whether what was read is good enough to keep, and writes the
// result.
func (l *loading) accept(sum tally, about about) error {
	r := l.result
	r.RowsRead, r.RowsKept, r.RowsRejected = sum.read, sum.kept, sum.rejected
	if sum.read == 0 {
		return hint.Errorf("a header and no rows").Hint("check where it came from")
	}
	if err := tooManyRejects(sum, l.opts.MaxRejectedRatio); err != nil {
		return err
	}
	if about.zone != "" {
		r.Notes = append(r.Notes, about.zone)
	}
	if sum.rejected > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rows rejected: %s", sum.rejected, firstRejects(sum.rejects)))
	}
	if sum.backwards > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rows are earlier than the row before them", sum.backwards))
	}
	return nil
}

func tooManyRejects(sum tally, allowed float64) error {
	ratio := float64(sum.rejected) / float64(max(sum.read, 1))
	switch {
	case sum.rejected == 0:
		return nil
	case sum.kept == 0:
		return fmt.Errorf("no row can be read: %s", firstRejects(sum.rejects))
	case ratio <= allowed:
		return nil
	}
	return hint.Errorf("%d of %d rows rejected, more than %g of them: %s", sum.rejected, sum.read, max(allowed, 0), firstRejects(sum.rejects)).
		Hint("mend the file, or take it in without these rows: --max-rejected %.2g", ratio*1.1)
}

// firstRejects names the first few: where and why, never the text.
func firstRejects(rejects []reject) string {
	const few = 3
	var parts []string
	for _, r := range rejects[:min(len(rejects), few)] {
		part := fmt.Sprintf("line %d: ", r.line)
		if r.column != "" {
			part += r.column + ": "
		}
		parts = append(parts, part+r.reason)
	}
	if len(rejects) > few {
		parts = append(parts, "...")
	}
	return strings.Join(parts, "; ")
}

// Duplicates are counted by grouping, which costs memory and time with the rows.
const countDuplicatesUpTo = 2_000_000

// noteDuplicates says how many rows are there already, with the same time, the
// same tokens and all else that is kept of them. They may be two requests that
// came together, so they stay. Where each row is later than the one before it
// there are none, and nothing needs to be counted.
func (l *loading) noteDuplicates(ctx context.Context, tx *warehouse.Tx, source int64, sum tally) error {
	if sum.ties == 0 && sum.backwards == 0 {
		return nil
	}
	if l.result.RowsKept > countDuplicatesUpTo {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("duplicates were not counted: more than %d rows", countDuplicatesUpTo))
		return nil
	}
	columns := "arrival_ns, input_tokens, output_tokens, session_id, turn, class, blocks"
	if l.trace != nil {
		columns = strings.TrimPrefix(l.trace.columns, "line, ")
	}
	var duplicates int64
	err := tx.QueryRow(ctx, fmt.Sprintf(`
		select coalesce(sum(copies - 1), 0)::bigint
		from (select count(*) as copies from raw.arrivals where source_id = ? group by %s having count(*) > 1)`, columns), source).Scan(&duplicates)
	if err == nil && duplicates > 0 {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("%d rows are exact duplicates; kept", duplicates))
	}
	return err
}

func (l *loading) insertSource(ctx context.Context, tx *warehouse.Tx, id int64, sha256 string, size int64, sum tally, about about) error {
	return tx.Exec(ctx, `
		insert into raw.sources (
			source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated,
			time_unit, zone_assumption, block_tokens, collection, licence, reader_version, ingested_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, 0), nullif(?, ''), nullif(?, ''), ?, ?)`,
		id, l.result.Name, cmp.Or(about.kind, l.format.kind), l.result.Format, l.file.path, sha256, size, sum.read, sum.kept, sum.rejected, about.originAt, about.originAt != nil,
		about.timeUnit, about.zone, about.blockTokens, about.collection, l.opts.Licence, readerVersion, time.Now().UTC())
}

// knownSource says that the same bytes are in the warehouse.
type knownSource struct {
	name, format         string
	read, kept, rejected int64
}

func (k *knownSource) Error() string { return "known already as " + k.name }

func (k *knownSource) result() Result {
	if k == nil {
		return Result{}
	}
	return Result{Name: k.name, Format: k.format, FormatWhy: "known already", AlreadyKnown: true,
		RowsRead: k.read, RowsKept: k.kept, RowsRejected: k.rejected}
}

type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

func knownSums(ctx context.Context, tx rowQuerier, known sums) (*knownSource, error) {
	var k knownSource
	err := tx.QueryRow(ctx, "select name, format, rows_read, rows_kept, rows_rejected from raw.sources where sha256 in (?, ?) limit 1", known.content, known.disk).
		Scan(&k.name, &k.format, &k.read, &k.kept, &k.rejected)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &k, err
}

type pool struct{ db *sql.DB }

func (p pool) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return p.db.QueryRowContext(ctx, query, args...)
}

// knownFile spares reading a file that is known: where a source has its size or its name (it may be the same rows,
// packed otherwise), it is hashed first. Any other file that is known is found out at its end.
func knownFile(ctx context.Context, db *sql.DB, file found, size int64) (*knownSource, error) {
	var same int
	err := db.QueryRowContext(ctx, "select count(*) from raw.sources where size_bytes = ? or name = ?", size, file.name).Scan(&same)
	if err != nil || same == 0 || size == 0 {
		return nil, err
	}
	sums, err := sumsOf(ctx, file.path)
	if err != nil {
		return nil, nil // its reader says better what is wrong
	}
	return knownSums(ctx, pool{db}, sums)
}

// nameIsFree refuses a name that other bytes have.
func nameIsFree(ctx context.Context, db rowQuerier, name string) error {
	var path string
	err := db.QueryRow(ctx, "select path from raw.sources where name = ?", name).Scan(&path)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return hint.Errorf("the name %s is taken by another file (%s)", name, path).
		Hint("choose another one with --name NAME").Mark(errNameTaken)
}

var errNameTaken = errors.New("the name is taken")
