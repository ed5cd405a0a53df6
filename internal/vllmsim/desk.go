package vllmsim

import (
	"slices"
	"sync"
	"time"

	"tidemark/internal/engine"
)

// desk is the API server's one thread (engine.Frontend) against the clock: it takes requests in and sends the tokens of steps out,
// first come first served. A request comes to it twice; those that wait together the second time are handed on together. The engine does not wait for it. Tokens that come while it is
// behind share a chunk, as in vLLM.
//
// Its timeline is its own, as the engine's is: a late wake-up does not add up.
type desk struct {
	front  engine.Frontend
	handOn func([]*stream) // to the engine
	waker  waker
	done   chan struct{} // closed when run has returned

	mu        sync.Mutex
	queue     []deskWork // in the order in which it reaches the thread
	isClosing bool
}

// deskWork is a request that comes or a step's tokens that leave.
type deskWork struct {
	ready   time.Time     // when it reaches the thread
	takes   time.Duration // of the thread
	request *stream       // that comes the second time; else nil
	do      func(at time.Time)
}

// newDesk is nil where nothing stands between engine and clients.
func newDesk(front engine.Frontend, handOn func([]*stream)) *desk {
	if front.IsNone() {
		return nil
	}
	return &desk{front: front, handOn: handOn, done: make(chan struct{})}
}

// takeIn hands on a request with so many prompt tokens that comes now when it has been taken in.
func (d *desk) takeIn(prompt int, request *stream) {
	way := d.front.Way + time.Duration(prompt)*d.front.WayToken
	half := d.front.Admits(prompt) / 2
	d.add(deskWork{ready: time.Now().Add(way), takes: half, do: func(read time.Time) {
		d.add(deskWork{ready: read, takes: half, request: request})
	}})
}

// send calls do when the tokens of a step that has just ended are out.
func (d *desk) send(at time.Time, tokens int, do func()) {
	d.add(deskWork{ready: at, takes: d.front.Sends(tokens), do: func(time.Time) { do() }})
}

func (d *desk) add(work deskWork) {
	d.mu.Lock()
	place := len(d.queue)
	for place > 0 && work.ready.Before(d.queue[place-1].ready) {
		place--
	}
	d.queue = slices.Insert(d.queue, place, work)
	d.mu.Unlock()
	if place == 0 {
		d.waker.wake()
	}
}

// close lets what waits happen at once and returns when it has.
func (d *desk) close() {
	d.mu.Lock()
	d.isClosing = true
	d.mu.Unlock()
	d.waker.wake()
	<-d.done
}

func (d *desk) run() {
	defer close(d.done)
	defer d.waker.close()
	var free, begins time.Time // begins: with the requests that are handed on together
	var together []*stream
	for {
		work, until, isOver := d.next()
		switch {
		case isOver:
			return
		case work.ready.IsZero(): // there is none yet
			d.waker.wait(until)
			continue
		}
		if work.ready.After(free) {
			free = work.ready
		}
		if work.request != nil && work.ready.After(begins) {
			begins = free
		}
		free = free.Add(work.takes)
		if now := time.Now(); now.Sub(free) > mostLag {
			free = now
		}
		d.waitUntil(free)
		if work.request == nil {
			work.do(free)
			continue
		}
		if together = append(together, work.request); !d.hasRequestBy(begins) {
			d.handOn(together)
			together = nil
		}
	}
}

// hasRequestBy says whether one waits that had reached the thread by then.
func (d *desk) hasRequestBy(instant time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.queue, func(work deskWork) bool { return work.request != nil && !work.ready.After(instant) })
}

// next takes the work that has reached the thread first. Where none has, it says until when to wait; the zero time is for ever.
func (d *desk) next() (work deskWork, until time.Time, isOver bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case len(d.queue) == 0:
		return work, until, d.isClosing
	case !d.isClosing && time.Now().Before(d.queue[0].ready):
		return work, d.queue[0].ready, false
	}
	work = d.queue[0]
	d.queue[0] = deskWork{} // the array keeps what lies before the queue
	d.queue = d.queue[1:]
	return work, until, false
}

func (d *desk) waitUntil(end time.Time) {
	for time.Now().Before(end) {
		d.mu.Lock()
		isClosing := d.isClosing
		d.mu.Unlock()
		if isClosing {
			return
		}
		d.waker.wait(end)
	}
}
