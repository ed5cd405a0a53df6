// Settling a row (scrubbing, compressing, counting) takes tens of microseconds, in which the event loop could read ten
// tokens. So the loop hands over ended exchanges in batches, once a turn, under one short lock.

package replay

import "sync"

// finisher writes the rows of exchanges that are over on a goroutine of its own, so that the event loop does not stop
// for it.
type finisher struct {
	state *runState
	added []*exchange // not yet handed over; the loop's

	mu      sync.Mutex
	queue   []*exchange
	isOver  bool
	more    chan struct{}
	running sync.WaitGroup
}

// newFinisher starts the goroutine; end must be called for it to stop.
func newFinisher(s *runState) *finisher {
	f := &finisher{state: s, more: make(chan struct{}, 1)}
	f.running.Go(f.run)
	return f
}

func (f *finisher) add(x *exchange) { f.added = append(f.added, x) }

// flush hands over what was added, all at once.
func (f *finisher) flush() {
	if len(f.added) == 0 {
		return
	}
	f.mu.Lock()
	f.queue = append(f.queue, f.added...)
	f.mu.Unlock()
	clear(f.added)
	f.added = f.added[:0]
	f.ring()
}

func (f *finisher) ring() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// end returns when everything is written.
func (f *finisher) end() {
	f.flush()
	f.mu.Lock()
	f.isOver = true
	f.mu.Unlock()
	f.ring()
	f.running.Wait()
}

// run settles batches until the last one; the queue and the batch swap their memory.
func (f *finisher) run() {
	var batch []*exchange
	for range f.more {
		f.mu.Lock()
		batch, f.queue = f.queue, batch[:0]
		isOver := f.isOver
		f.mu.Unlock()
		for _, x := range batch {
			f.state.finish(x)
		}
		clear(batch)
		if isOver {
			return
		}
	}
}
