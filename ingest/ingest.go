// Package ingest takes traces, results, metrics, hardware and runs into the warehouse:
// bytes -> checked rows -> Arrow batches -> one transaction for each file.
//
//	ingest.go       Load: what the program calls
//	folders.go      which files the paths name; what is in a folder
//	loader.go       several files at a time, progress, the order in which they are taken in
//	formats.go      all formats, in the order in which they are asked
//	recognise.go    which of them a file is
//	load.go         one file, from opening it to its row in raw.sources
//	known.go names.go sources.go   what is in the warehouse already; what a source is called
//	parquet.go      Parquet, whose columns any of several formats may read
//	runfolder.go resultsfolder.go  folders that are one source
//	prefixreuse.go  how far back each prompt block was last used, once a trace is in
//
// The formats are in wings, one file per format: ingest/traces, results, metrics,
// hardware and runs. A wing imports the toolkit ingest/read, never another wing and
// never this package. To follow one row, read formats.go, load.go, the format's
// file (traces/azure.go), and of the toolkit read/parallel.go or read/rows.go.
//
// A file is in the warehouse whole or not at all, and once, whatever it is called:
// the same bytes, packed or not, are one source. A row that cannot be read is a
// reject with line, column and reason, never its text; rows read = kept + rejected,
// always.
//
// Kept arrival times are integer nanoseconds since the source's origin_at. A dated
// trace has its first row's instant as origin, cut to the microsecond that an SQL
// timestamp can hold; a row before it (the file is unsorted) is negative. A trace
// with relative times has no origin_at: its zero is the file's own.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// Options say how files are taken in. The zero value is ready for use.
type Options struct {
	Format           string            // "" recognises it from the content; Formats has the names
	Name             string            // the source's name; "" makes one from the file's. For one file only
	OfRun            string            // the run that profiles of kernels are of: their names then begin with it, which makes them the run's
	Licence          string            // of the data, for the reports made of it
	Columns          map[string]string // of a plain table: which of its columns is which of ours, as in input_tokens=prompt_len
	TimeUnit         string            // of stamps without one: s, ms, us or ns; "" tells it by their size
	RefuseText       bool              // refuse files that hold prompts or answers; otherwise they are read for lengths and the text is left out
	MaxRejectedRatio float64           // more rejected than this fails the file; 0 means 0.001, below 0 none at all
	Stdin            io.Reader         // what the path "-" reads; nil is os.Stdin
	RefreshLater     bool              // leave the kept tables to the caller's warehouse.Refresh, or to the next opening for writing
	Progress         func(Progress)    // called now and then while files are read, from one goroutine at a time
}

// Progress is how far the files have been read.
type Progress struct {
	Files, FilesDone int
	Bytes, Size      int64 // read from disk so far, and of all files; Size is 0 where that is not known
	Rows             int64 // kept so far
}

// Result is what became of one file. Format is empty for a file of a folder that
// was passed over because it holds no data; its note says why.
type Result struct {
	Path         string
	Name         string // of the source
	Format       string // azure, mooncake, run, ...
	FormatWhy    string // what in the content says so
	RowsRead     int64
	RowsKept     int64
	RowsRejected int64
	AlreadyKnown bool     // the same bytes, packed or not, are in the warehouse, as Name; nothing was changed
	Notes        []string // what a reader of the numbers must know
	Began        time.Time
	Seconds      float64
}

// defaultMaxRejectedRatio allows one bad row in a thousand: more than that is a
// file of another kind.
const defaultMaxRejectedRatio = 0.001

// Load takes in the paths, several files at a time. A path that fails does not keep
// the others out: its error is joined to the errors at the end, and its result is
// not listed. Results are in the order of the paths, and of the names in a folder.
//
// A warehouse that was made for this call, and is still empty when the call fails,
// is removed by its Close.
func Load(ctx context.Context, w *warehouse.Warehouse, paths []string, opts Options) ([]Result, error) {
	results, err := loadAll(ctx, w, paths, opts)
	if err != nil {
		w.DiscardIfNew()
	}
	return results, err
}

func loadAll(ctx context.Context, w *warehouse.Warehouse, paths []string, opts Options) ([]Result, error) {
	opts.MaxRejectedRatio = cmp.Or(opts.MaxRejectedRatio, defaultMaxRejectedRatio)
	if err := checkFormat(opts.Format); err != nil {
		return nil, err
	}
	files, results, errs := gather(paths)
	files, drop, failures := mergeShards(files)
	defer drop()
	errs = append(errs, failures...)
	if opts.Name != "" && max(len(paths), len(files)) > 1 {
		return nil, hint.Misuse("ingest: one name for %d files", max(len(paths), len(files))).Hint("leave --name out, or name one file")
	}
	var last int64
	if err := w.DB().QueryRowContext(ctx, "select coalesce(max(source_id), 0) from raw.sources").Scan(&last); err != nil {
		return nil, err
	}
	m := &loader{w: w, opts: opts, names: newClaims(), sums: newClaims(), meter: &meter{told: opts.Progress}}
	m.meter.sum.Files = len(files)
	for i := range files {
		files[i].isOneOfMany = len(files) > 1
		files[i].source = last + int64(i) + 1
		files[i].size = sizeOf(files[i].path)
		m.meter.sum.Size += files[i].size
	}
	nameFiles(files, m.names)
	if err := boundDuckDB(ctx, w, bytesToRead(files)); err != nil {
		return nil, err
	}
	isTogether := m.defersRefresh(files)
	loaded, failed := m.results(m.load(ctx, files))
	if isTogether && ctx.Err() == nil {
		errs = append(errs, warehouse.Refresh(ctx, w.DB()))
	}
	return append(results, loaded...), errors.Join(stopped(ctx, append(errs, failed...))...)
}

// defersRefresh says that several runs come: what is kept of them is then computed once, after the last. Planning those
// statements costs more than the rows of a small run. What a Ctrl-C leaves out, the next opening for writing computes.
func (m *loader) defersRefresh(files []candidate) bool {
	runs := 0
	for _, file := range files {
		if file.isRun {
			runs++
		}
	}
	if runs < 2 || m.opts.RefreshLater {
		return false
	}
	m.opts.RefreshLater = true
	return true
}

// mostInPipe is what a pipe is taken to hold: ten GB from one, for which DuckDB had no limit, took 14 GB of memory.
const mostInPipe = 1 << 30

// bytesToRead is about how much the files hold: packed ones ten times their size.
func bytesToRead(files []candidate) (bytes int64) {
	for _, f := range files {
		info, err := os.Stat(f.path)
		switch {
		case f.path == "-" || err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) != 0:
			bytes += mostInPipe
		case read.UnpackedName(f.path) != filepath.Base(f.path):
			bytes += 10 * f.size
		default:
			bytes += f.size
		}
	}
	return bytes
}

// boundDuckDB keeps DuckDB from holding on to what it has written of large files:
// it would take four fifths of the machine's memory before it gives any back. Each
// of its threads needs some to work in. For small files the limit is left alone,
// because that is faster. Small files are planned for longer than they are worked
// on, and handing the work to a second thread costs a tenth more than doing it.
func boundDuckDB(ctx context.Context, w *warehouse.Warehouse, size int64) error {
	const smallBytes, largeBytes, leastMB, threadMB = 1 << 20, mostInPipe, 400, 150
	if size < smallBytes {
		return w.OneThread(ctx)
	}
	if size < largeBytes {
		return nil
	}
	_, err := w.DB().ExecContext(ctx, fmt.Sprintf("set memory_limit = '%dMB'", max(leastMB, threadMB*runtime.GOMAXPROCS(0))))
	return err
}
