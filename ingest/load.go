package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// loadOne takes in one candidate of any kind. What no format recognises is an error
// if the user named it, and is passed over if it was found in a folder.
func (m *loader) loadOne(ctx context.Context, file candidate) (Result, error) {
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
			Hint("use %s, or remove it first: tidemark warehouse purge %s", result.Name, escape.Shell(result.Name))
	}
	if file.inFolder && m.opts.Format == "" && (errors.Is(err, read.ErrUnknownFormat) || errors.Is(err, errEmpty)) {
		return Result{Path: file.path, Notes: []string{"passed over: " + err.Error()}}, nil
	}
	result.Path = file.path
	result.Began, result.Seconds = began, time.Since(began).Seconds()
	return result, err
}

// errBeingRead is for a file with the rows of another file that the same Load is
// taking in. It is tried again after that one.
var errBeingRead = errors.New("the same rows are being read")

var errEmpty = hint.Errorf("the file is empty").Hint("check where it came from")

// loadFile takes in one file: open it, look whether its bytes are known, recognise
// its format by its first block, and read it in one transaction. A stream has no
// size and cannot be read twice, so whether it is known is found out at its end.
func (m *loader) loadFile(ctx context.Context, file candidate) (Result, error) {
	w, opts := m.w, m.opts
	in, err := read.Open(ctx, file.path, opts.Stdin)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	known, err := knownFile(ctx, w.DB(), file, in.Size)
	if err != nil {
		return Result{}, err
	}
	// Whoever insists on another format is told what the file is.
	if known != nil && (opts.Format == "" || opts.Format == known.format) {
		return known.asAsked(opts)
	}
	lines := read.NewBlocks(in, read.BlockSize, read.LineLimit)
	first, err := lines.Next()
	if errors.Is(err, io.EOF) {
		return Result{}, errEmpty
	}
	if err != nil {
		return Result{}, err
	}
	if len(bytes.TrimSpace(first.Data)) == 0 && !first.Overlong && lines.Ended {
		return Result{}, errEmpty
	}
	doc := &read.Document{Path: file.path, First: first, Rest: lines, RefusesText: opts.RefuseText, Columns: opts.Columns, TimeUnit: opts.TimeUnit}
	h := read.NewHead(first.Data, doc.Base())
	h.Said = opts.Columns
	format, why, err := recognise(h, opts.Format)
	if err != nil && first.Overlong { // its end is nearer than a bomb's
		_, err = lines.Next()
		if err == nil || errors.Is(err, io.EOF) {
			_, _, err = recognise(h, opts.Format)
		}
	}
	if err != nil {
		return Result{}, err
	}
	if format.Kind == "kernels" && opts.Name == "" && opts.OfRun != "" {
		opts.Name = opts.OfRun + "_" + file.name
	}
	result := Result{Name: cmp.Or(opts.Name, file.name), Format: format.Name, FormatWhy: why}
	l := &fileLoad{file: file, in: in, format: format, head: h.Data, opts: opts, names: m.names, sums: m.sums, result: &result, doc: doc, progress: m.meter.of()}
	if opts.TimeUnit != "" && !format.TakesUnit {
		return Result{}, hint.Misuse("--time-unit %s: times of the format %s have a unit", opts.TimeUnit, format.Name).Hint("leave it out")
	}
	if format.Open != nil {
		if l.trace, doc.First, err = format.Open(first, opts.TimeUnit); err != nil {
			return Result{}, err
		}
	}
	if in.Size > 0 { // a stream may yet turn out to be known
		if err := l.name(ctx, pool{w.DB()}); err != nil {
			return Result{}, err
		}
	}
	err = w.Write(ctx, func(tx *warehouse.Tx) error { return l.write(ctx, tx) })
	if errors.As(err, &known) {
		return known.asAsked(opts)
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if short := read.SourceName(file.path); opts.Name == "" && format.Grows == nil && result.Name != short {
		result.Notes = append(result.Notes, fmt.Sprintf("called %s, because several files are called %s", result.Name, short))
	}
	if err == nil && in.Last != '\n' && h.IsLinesOfText() {
		result.Notes = append(result.Notes, noLastEnd)
	}
	return result, err
}

// noLastEnd is all that can be seen of a table that was cut inside its last number.
// Whole files may lack the line end, too, so it is a note.
const noLastEnd = "the last line has no line end: if the file was cut, its last value may be too"

// fileLoad is one file on its way into the warehouse.
type fileLoad struct {
	file   candidate
	in     *read.File
	format read.Format
	head   []byte // the start of the file
	doc    *read.Document
	trace  *read.Arrivals // of a format of lines; nil for any other
	opts   Options
	names  *claims
	sums   *claims
	result *Result

	progress func(bytes, rows int64) // nil where progress is not wanted
}

// name settles what the source is called. A file that has grown keeps the name that it has.
func (l *fileLoad) name(ctx context.Context, db rowQuerier) (err error) {
	earlier, err := l.earlier(ctx, db)
	if err != nil {
		return err
	}
	if name := cmp.Or(l.opts.Name, earlier.name); earlier.name != "" && name == earlier.name {
		l.result.Name = name
		return nil
	}
	l.result.Name, err = l.names.freeName(ctx, db, l.file, l.result.Name)
	return err
}

// write takes the file in, within one transaction: its rows, then the checks that
// need all of them, then its row in raw.sources. Any error rolls everything back.
//
// The fingerprint is complete only when the last byte has been read. Two copies of
// one file may be read at the same time; the first to claim the fingerprint becomes
// the source.
func (l *fileLoad) write(ctx context.Context, tx *warehouse.Tx) error {
	id := l.file.source
	take := l.document
	if l.trace != nil {
		take = l.stream
	}
	sum, about, err := take(ctx, tx, id)
	if err != nil {
		return err
	}
	if l.in.Disk.Bytes.Load() >= largeBytes {
		debug.FreeOSMemory() // of the readers' buffers: from here DuckDB needs memory, and Go does not
	}
	if err := l.accept(sum, about); err != nil {
		return err
	}
	sums, err := l.in.Sums()
	if err != nil {
		return err
	}
	if l.grew() {
		l.result.Notes = append(l.result.Notes, "the file grew while it was read: what was written since is not in it; take it in again when it is whole")
	}
	if err := refuseKnown(ctx, tx, sums); err != nil {
		return err
	}
	if !l.file.isAfter && !l.sums.claim(sums.Content, l.file.path) {
		return errBeingRead
	}
	if err := l.replace(ctx, tx); err != nil {
		return err
	}
	if err := l.name(ctx, tx); err != nil {
		return err
	}
	if err := l.noteDuplicates(ctx, tx, id, sum); err != nil {
		return err
	}
	if err := l.tellTurns(ctx, tx, id, about.BlockTokens); err != nil {
		return err
	}
	if err := l.measureReuse(ctx, tx, id); err != nil {
		return err
	}
	if err := l.insertManifest(ctx, tx, id, sums.Disk); err != nil {
		return err
	}
	return insertSource(ctx, tx, id, sourceRow{
		Result: l.result, kind: cmp.Or(about.Kind, l.format.Kind), path: l.file.path, sha256: sums.Content, size: l.in.Disk.Bytes.Load(),
		about: about, licence: l.opts.Licence, readAs: l.opts.readAs(), rejects: sum.Rejects,
	})
}

// grew says that the file is longer now than it was when it was opened, or than what was read of it.
func (l *fileLoad) grew() bool {
	if l.in.Size == 0 {
		return false
	}
	now, err := os.Stat(l.file.path)
	read := l.in.Disk.Bytes.Load()
	return read > l.in.Size || err == nil && now.Mode().IsRegular() && now.Size() > read
}

// stream reads a file of lines with many workers, straight into raw.arrivals.
func (l *fileLoad) stream(ctx context.Context, tx *warehouse.Tx, id int64) (read.Counts, read.About, error) {
	t := l.trace
	pipeline := read.StartPipeline(ctx, t.Parser, l.doc.Rest, l.doc.First, l.progressOf())
	view := fmt.Sprintf("arriving_%d", id)
	err := tx.Stream(ctx, pipeline, view, fmt.Sprintf(
		"insert into raw.arrivals (source_id, %s) select %d, %s from %s", t.Columns, id, t.Columns, view))
	pipeline.Close()
	if failed := pipeline.Err(); failed != nil {
		err = failed // DuckDB repeats it in its own words
	}
	if err != nil {
		return read.Counts{}, read.About{}, err
	}
	l.result.Notes = append(l.result.Notes, t.Notes(pipeline.Counts)...)
	return pipeline.Counts, t.About, nil
}

// document lets the format's own reader read the file.
func (l *fileLoad) document(ctx context.Context, tx *warehouse.Tx, id int64) (read.Counts, read.About, error) {
	out := read.NewRows(ctx, tx, id, l.doc)
	out.Progress = l.progressOf()
	defer out.Close()
	err := l.format.ReadInto(l.doc, out)
	if err == nil {
		err = out.End()
	}
	l.result.Notes = append(l.result.Notes, out.Notes...)
	return out.Sum, out.About, err
}

// progressOf reports how far the file has been read, after each batch.
func (l *fileLoad) progressOf() func(read.Counts) {
	if l.progress == nil {
		return nil
	}
	return func(sum read.Counts) { l.progress(l.in.Disk.Bytes.Load(), sum.Kept) }
}

// accept decides whether what was read is good enough to keep, and fills in the result.
func (l *fileLoad) accept(sum read.Counts, about read.About) error {
	r := l.result
	r.RowsRead, r.RowsKept, r.RowsRejected = sum.Read, sum.Kept, sum.Rejected
	if sum.Read == 0 {
		return hint.Errorf("a header and no rows").Hint("check where it came from")
	}
	if err := read.TooManyRejects(sum, l.opts.MaxRejectedRatio); err != nil {
		return err
	}
	if about.Zone != "" {
		r.Notes = append(r.Notes, about.Zone)
	}
	if sum.Rejected > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s rejected: %s", show.Things(sum.Rejected, "row", "rows"), read.FirstRejects(sum.Rejects)))
	}
	if sum.Backwards > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rows are earlier than the row before them", sum.Backwards))
	}
	return nil
}

// countDuplicatesUpTo rows. Duplicates are counted by grouping, which costs memory
// and time with the number of rows.
const countDuplicatesUpTo = 2_000_000

// noteDuplicates says how many rows are there already, with the same time, the same
// tokens and everything else that is kept of them. They may be two requests that
// came together, so they stay. Where each row is later than the row before it there
// are none, and nothing is counted.
func (l *fileLoad) noteDuplicates(ctx context.Context, tx *warehouse.Tx, source int64, sum read.Counts) error {
	if sum.Ties == 0 && sum.Backwards == 0 {
		return nil
	}
	if l.result.RowsKept > countDuplicatesUpTo {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("duplicates were not counted: more than %d rows", countDuplicatesUpTo))
		return nil
	}
	columns := "arrival_ns, input_tokens, output_tokens, session_id, turn, class, blocks"
	if l.trace != nil {
		columns = strings.TrimPrefix(l.trace.Columns, "line, ")
	}
	// Agents have hundreds of block ids in a row; its other columns and a hash of 64 bits tell as much.
	columns = strings.Replace(columns, "blocks", "hash(blocks)", 1)
	var duplicates int64
	err := tx.QueryRow(ctx, fmt.Sprintf(`
		select coalesce(sum(copies - 1), 0)::bigint
		from (select count(*) as copies from raw.arrivals where source_id = ? group by %s having count(*) > 1)`, columns), source).Scan(&duplicates)
	if err == nil && duplicates > 0 {
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("%d rows are exact duplicates; kept", duplicates))
	}
	return err
}
