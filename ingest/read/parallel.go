package read

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Parser makes a batch of rows from a block of lines. It is called from several
// goroutines at once, so it must not change.
type Parser interface {
	Schema() *arrow.Schema
	Parse(b Block) *Batch
}

// Pipeline carries a file's blocks through the parse workers and hands the batches
// out in the order of the file, as the record reader that DuckDB pulls from.
//
// One goroutine (feed) cuts the file into blocks. For each block it first puts a
// channel into queue, which fixes the order, and then hands the block and the
// channel to any free worker. Next takes the channels from queue in that order and
// waits for the batch of each. Memory is bounded by the length of queue: when
// DuckDB is slow, feed blocks on it, and the workers run dry. An error of the
// reader is sent on failed after the last block, so that all rows before it arrive
// first. Close cancels feed, drains queue and waits for all goroutines.
type Pipeline struct {
	parser Parser
	blocks *Blocks
	cancel context.CancelFunc
	queue  chan chan *Batch // in the order of the file
	work   chan job
	all    sync.WaitGroup
	failed chan error // why the blocks ended early, at most one

	Counts   Counts
	progress func(Counts) // after each batch
	current  arrow.RecordBatch
	failure  error
}

// job is a block and where its batch is awaited.
type job struct {
	block Block
	done  chan *Batch
}

// StartPipeline starts with the first block, which has been read to recognise the
// file. told is called after each batch, from DuckDB's thread; it may be nil.
func StartPipeline(ctx context.Context, p Parser, from *Blocks, first Block, told func(Counts)) *Pipeline {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	r := &Pipeline{
		parser: p, blocks: from, cancel: cancel, progress: told,
		queue:  make(chan chan *Batch, 2*workers),
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

// feed sends blocks until the file ends (nil) or cannot be read any further.
func (r *Pipeline) feed(ctx context.Context, next Block) error {
	for {
		done := make(chan *Batch, 1)
		select {
		case r.queue <- done:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.work <- job{next, done}
		var err error
		if next, err = r.blocks.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// parseBlock rejects a line that is longer than a block without parsing it.
func parseBlock(p Parser, b Block) *Batch {
	if !b.Overlong {
		return p.Parse(b)
	}
	return &Batch{Read: 1, Rejects: []Reject{{b.Line, "", TooLong}}}
}

// Close ends the goroutines and frees the batches that were not pulled.
func (r *Pipeline) Close() {
	r.cancel()
	for done := range r.queue {
		if left := <-done; left.Record != nil {
			left.Record.Release()
		}
	}
	r.all.Wait()
	r.drop()
}

// drop frees the batch that DuckDB had last; it is valid only until the next one.
func (r *Pipeline) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// Next is called from DuckDB's threads, one at a time.
func (r *Pipeline) Next() bool {
	r.drop()
	for r.failure == nil {
		done, ok := <-r.queue
		if !ok {
			r.failure = <-r.failed
			r.failed <- r.failure // for a second call
			return false
		}
		made := <-done
		r.add(made)
		if made.Record == nil {
			continue
		}
		if made.Record.NumRows() == 0 {
			made.Record.Release()
			continue
		}
		r.current = made.Record
		return r.failure == nil
	}
	return false
}

// add sums up a batch. Rows out of order are also looked for between two batches.
func (r *Pipeline) add(made *Batch) {
	t := &r.Counts
	if made.Kept > 0 {
		switch {
		case t.Kept == 0:
		case made.first < t.Last:
			t.Backwards++
		case made.first == t.Last:
			t.Ties++
		}
		t.Last = made.last
	}
	t.Read += made.Read
	t.Kept += made.Kept
	t.Rejected += int64(len(made.Rejects))
	t.Backwards += made.backwards
	t.Ties += made.ties
	t.Extra += made.Extra
	t.Rejects = append(t.Rejects, made.Rejects...)
	r.failure = t.hopeless()
	if r.progress != nil {
		r.progress(*t)
	}
}

// Schema is that of the parser. This and what follows is the interface of Arrow's
// record readers.
func (r *Pipeline) Schema() *arrow.Schema { return r.parser.Schema() }

// RecordBatch is the batch that the last Next took.
func (r *Pipeline) RecordBatch() arrow.RecordBatch { return r.current }

// Record is RecordBatch by its older name.
func (r *Pipeline) Record() arrow.RecordBatch { return r.current }

// Err is why the rows ended early.
func (r *Pipeline) Err() error { return r.failure }

// Retain does nothing: Close frees, whoever still holds on.
func (r *Pipeline) Retain() {}

// Release does nothing, for the same reason.
func (r *Pipeline) Release() {}

var _ array.RecordReader = (*Pipeline)(nil)

// Keep counts a row that is taken in, by its arrival in nanoseconds.
func (b *Batch) Keep(arrival int64) {
	if b.Kept == 0 {
		b.first = arrival
	} else if arrival < b.last {
		b.backwards++
	} else if arrival == b.last {
		b.ties++
	}
	b.last = arrival
	b.Kept++
}
