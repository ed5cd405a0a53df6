package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// parser makes batches of blocks. It is called from several goroutines at once.
type parser interface {
	schema() *arrow.Schema
	parse(b block) *batch
}

// batch is what a block came to: read = rows of the record + rejects, unless a
// line makes several rows.
type batch struct {
	record    arrow.RecordBatch
	read      int64
	kept      int64
	rejects   []reject
	first     int64 // arrival of the first and of the last kept row, nanoseconds
	last      int64
	backwards int64 // kept rows that are earlier than the row before them in the block
	ties      int64 // kept rows that are of the same instant as the row before them in the block
	extra     int64 // rows with something that the format's notes count
}

// Limits on what is worth keeping of a file that is not what it seems to be.
const (
	maxRejects   = 1_000_000
	hopelessFrom = 1_000 // rejects without one kept row
)

// road carries a file's blocks through the parse workers, and hands the batches
// out in the order of the file, as the record reader that DuckDB pulls from.
// Memory is bounded by the length of the queue.
type road struct {
	parser parser
	blocks *blocks
	cancel context.CancelFunc
	queue  chan chan *batch // in the order of the file
	work   chan job
	all    sync.WaitGroup
	failed chan error // why the blocks ended early, at most one

	tally   tally
	told    func(tally) // after each batch
	current arrow.RecordBatch
	err     error
}

type job struct {
	block block
	done  chan *batch
}

// tally is the sum of the batches so far.
type tally struct {
	read, kept, rejected int64
	backwards, ties      int64
	extra                int64
	first, last          int64 // arrival of the first and of the last kept row, nanoseconds
	rejects              []reject
}

// hopeless ends a file that is not what it seems to be.
func (t *tally) hopeless() error {
	switch {
	case t.kept == 0 && t.rejected >= hopelessFrom:
		return fmt.Errorf("not one of the first %d rows can be read: %s", t.rejected, firstRejects(t.rejects))
	case t.rejected > maxRejects:
		return fmt.Errorf("more than %d rows rejected: %s", maxRejects, firstRejects(t.rejects))
	}
	return nil
}

// start sends the first block, which has been read to recognise the file, and
// everything after it down the road.
func start(ctx context.Context, p parser, from *blocks, first block, told func(tally)) *road {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	r := &road{
		parser: p, blocks: from, cancel: cancel, told: told,
		queue:  make(chan chan *batch, 2*workers),
		work:   make(chan job),
		failed: make(chan error, 1),
	}
	for range workers {
		r.all.Go(func() {
			for next := range r.work {
				next.done <- parseBlock(p, next.block)
				from.done(next.block)
			}
		})
	}
	r.all.Go(func() {
		defer close(r.queue)
		defer close(r.work)
		r.failed <- r.feed(ctx, first)
	})
	return r
}

// feed sends blocks until the file ends, nil, or it cannot go on.
func (r *road) feed(ctx context.Context, next block) error {
	for {
		done := make(chan *batch, 1)
		select {
		case r.queue <- done:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.work <- job{next, done}
		var err error
		if next, err = r.blocks.next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func parseBlock(p parser, b block) *batch {
	if !b.overlong {
		return p.parse(b)
	}
	return &batch{read: 1, rejects: []reject{{b.line, "", tooLong}}}
}

// close ends the goroutines and frees what was not pulled.
func (r *road) close() {
	r.cancel()
	for done := range r.queue {
		if left := <-done; left.record != nil {
			left.record.Release()
		}
	}
	r.all.Wait()
	r.drop()
}

func (r *road) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// Next is called from DuckDB's threads, one at a time.
func (r *road) Next() bool {
	r.drop()
	for r.err == nil {
		done, ok := <-r.queue
		if !ok {
			r.err = <-r.failed
			r.failed <- r.err // for a second call
			return false
		}
		made := <-done
		r.add(made)
		if made.record == nil {
			continue
		}
		if made.record.NumRows() == 0 {
			made.record.Release()
			continue
		}
		r.current = made.record
		return r.err == nil
	}
	return false
}

func (r *road) add(made *batch) {
	t := &r.tally
	if made.kept > 0 {
		if t.kept == 0 {
			t.first = made.first
		} else if made.first < t.last {
			t.backwards++
		} else if made.first == t.last {
			t.ties++
		}
		t.last = made.last
	}
	t.read += made.read
	t.kept += made.kept
	t.rejected += int64(len(made.rejects))
	t.backwards += made.backwards
	t.ties += made.ties
	t.extra += made.extra
	t.rejects = append(t.rejects, made.rejects...)
	r.err = t.hopeless()
	if r.told != nil {
		r.told(*t)
	}
}

func (r *road) Schema() *arrow.Schema          { return r.parser.schema() }
func (r *road) RecordBatch() arrow.RecordBatch { return r.current }
func (r *road) Record() arrow.RecordBatch      { return r.current }
func (r *road) Err() error                     { return r.err }
func (r *road) Retain()                        {} // close frees, whoever still holds on
func (r *road) Release()                       {}

var _ array.RecordReader = (*road)(nil)
