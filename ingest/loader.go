package ingest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"tidemark/ingest/read"
	"tidemark/internal/store/warehouse"
)

// largeBytes is the size from which a file keeps all cores busy by itself: only one
// such file is read at a time, which also bounds the memory.
const largeBytes = 64 << 20

// mostAtOnce files are read together; each holds some blocks and a connection to
// the warehouse.
const mostAtOnce = 4

// loader takes in several files at a time, each in its own transaction. Its workers
// share the claims and the meter, which have locks of their own.
type loader struct {
	w     *warehouse.Warehouse
	opts  Options
	names *claims
	sums  *claims // of the contents that are being taken in, in place of names
	meter *meter
	large sync.Mutex // held by the one large file that is read
	kept  sync.Mutex // one goroutine at a time writes the kept tables, from the begin of its transaction on
}

// outcome is what became of one file: a result or an error, or nothing where it was
// not started.
type outcome struct {
	result Result
	err    error
	isDone bool
}

// load takes in the files. Those that may be copies of others come last, one at a
// time, so that it is always the same copy that becomes the source.
func (m *loader) load(ctx context.Context, files []candidate) []outcome {
	outcomes := make([]outcome, len(files))
	alone, after := setAside(ctx, files)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(alone), mostAtOnce, max(2, runtime.GOMAXPROCS(0))) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = m.loadAndRefresh(ctx, files[i])
			}
		})
	}
	for _, i := range alone {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	for i := range outcomes {
		if errors.Is(outcomes[i].err, errBeingRead) {
			after = append(after, i)
		}
	}
	for _, i := range after {
		files[i].isAfter = true
		if ctx.Err() == nil {
			outcomes[i] = m.loadAndRefresh(ctx, files[i])
		}
	}
	return outcomes
}

// loadAndRefresh takes in one file and, where predictions depend on it, computes
// the kept rows of earlier runs again, even if the user stops meanwhile: old figures
// must not stay.
func (m *loader) loadAndRefresh(ctx context.Context, file candidate) outcome {
	if file.size >= largeBytes || file.path == "-" {
		m.large.Lock()
		defer m.large.Unlock()
	}
	if file.isRun { // its transaction also writes the kept tables, and two at a time would be in conflict
		m.kept.Lock()
	}
	result, err := m.loadOne(ctx, file)
	if file.isRun {
		m.kept.Unlock()
	}
	if errors.Is(err, errBeingRead) {
		return outcome{err: err, isDone: true} // it has its turn again, after the others
	}
	if err == nil && !m.opts.RefreshLater && !result.AlreadyKnown && slices.Contains(refreshing, result.Format) {
		m.kept.Lock()
		err = warehouse.Refresh(context.WithoutCancel(ctx), m.w.DB())
		m.kept.Unlock()
	}
	m.meter.ended()
	if err != nil {
		err = fmt.Errorf("ingest %s: %w", file.path, err)
	}
	return outcome{result, err, true}
}

// refreshing are the formats that predictions are made from. A run's own rows are
// computed with it.
var refreshing = []string{"model-config", "gpus", "kernel-times", "parquet", "prices"}

// setAside finds the files whose content may be that of a file before them: of the
// same size, or of the same name except for the ending of its packing. Only those
// are hashed in advance.
func setAside(ctx context.Context, files []candidate) (alone, after []int) {
	alike := newLikeness(files)
	seen := map[string]bool{}
	for i, file := range files {
		if !alike.hasOthers(file) {
			alone = append(alone, i)
			continue
		}
		sums, err := read.SumsOf(ctx, file.path)
		if err == nil && seen[sums.Content] {
			after = append(after, i)
			continue
		}
		seen[sums.Content] = true
		alone = append(alone, i)
	}
	return alone, after
}

// likeness counts files by what can be seen of them without reading them.
type likeness struct {
	bySize map[int64]int
	byName map[string]int
	packed map[string]bool // names that a packed file has
}

func newLikeness(files []candidate) likeness {
	l := likeness{map[int64]int{}, map[string]int{}, map[string]bool{}}
	for _, file := range files {
		name := read.UnpackedName(file.path)
		l.bySize[file.size]++
		l.byName[name]++
		if name != filepath.Base(file.path) {
			l.packed[name] = true
		}
	}
	return l
}

// hasOthers says that another file may have the same content.
func (l likeness) hasOthers(file candidate) bool {
	name := read.UnpackedName(file.path)
	return file.size > 0 && (l.bySize[file.size] > 1 || l.packed[name] && l.byName[name] > 1)
}

func (m *loader) results(outcomes []outcome) (results []Result, errs []error) {
	for _, o := range outcomes {
		switch {
		case !o.isDone:
		case o.err != nil:
			errs = append(errs, o.err)
		default:
			results = append(results, o.result)
		}
	}
	return results, errs
}

// stopped leaves one error of a Load that was stopped, not one for each file that
// was being read.
func stopped(ctx context.Context, errs []error) []error {
	if ctx.Err() == nil {
		return errs
	}
	var others []error
	for _, err := range errs {
		if !errors.Is(err, ctx.Err()) {
			others = append(others, err)
		}
	}
	return append(others, ctx.Err())
}
