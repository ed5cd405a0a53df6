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
	"tidemark/internal/warehouse"
)

// A file of this size keeps all cores busy by itself: only one such is read at a
// time, which also bounds the memory.
const largeBytes = 64 << 20

// mostAtOnce are read together; each holds some blocks and a connection.
const mostAtOnce = 4

// loader takes in several files at a time, each in its own transaction.
type loader struct {
	w     *warehouse.Warehouse
	opts  Options
	names *names
	sums  *names // of the contents that are being taken in, in place of names
	meter *meter
	large sync.Mutex // held by the one large file that is read
	kept  sync.Mutex // held by who has it worked out again what is kept from runs and from what they ran on
}

// outcome is what became of one file: a result or an error, or nothing where it
// was not begun.
type outcome struct {
	result Result
	err    error
	isDone bool
}

func (m *loader) load(ctx context.Context, files []found) []outcome {
	outcomes := make([]outcome, len(files))
	alone, after := apart(ctx, files)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(alone), mostAtOnce, max(2, runtime.GOMAXPROCS(0))) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = m.one(ctx, files[i])
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
			outcomes[i] = m.one(ctx, files[i])
		}
	}
	return outcomes
}

func (m *loader) one(ctx context.Context, file found) outcome {
	if file.size >= largeBytes || file.path == "-" {
		m.large.Lock()
		defer m.large.Unlock()
	}
	result, err := m.loadOne(ctx, file)
	if errors.Is(err, errBeingRead) {
		return outcome{err: err, isDone: true} // it has its turn again, after the others
	}
	if err == nil && !result.AlreadyKnown && slices.Contains(changesKept, result.Format) {
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

// changesKept are the formats that a prediction is made from: who is killed after one must not leave old figures.
var changesKept = []string{"run", "model-config", "gpus", "kernel-times", "parquet"}

// apart finds the files whose content may be that of a file before them: of the same size, or of the same name but for
// the ending of its packing. They are taken in after it, so that it is the same one each time that becomes the source.
func apart(ctx context.Context, files []found) (alone, after []int) {
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

func newLikeness(files []found) likeness {
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

func (l likeness) hasOthers(file found) bool {
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

// stopped leaves one error of a Load that was stopped, not one for each file
// that was being read.
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
