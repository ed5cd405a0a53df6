package serve

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// queue lets so many queries run at a time. Those that wait are served by asker in turn, so that many queries of one do
// not delay the first of another. Each asker may have so many waiting; one more is told to come back.
type queue struct {
	mu      sync.Mutex
	free    int
	most    int                  // waiting of one asker
	waiting map[string][]*ticket // by asker, oldest first; never empty lists
	turns   []string             // the askers with tickets, next first
	seconds float64              // moving mean of a query's time
	places  int
	longest time.Duration // of a wait
}

// ticket is one query that waits.
type ticket struct{ called chan struct{} }

func newQueue(places, most int, longest time.Duration) *queue {
	return &queue{free: places, places: places, most: most, longest: longest, waiting: map[string][]*ticket{}, seconds: 1}
}

// enter waits for a turn. leave must be called once the query has ended.
func (q *queue) enter(ctx context.Context, asker string) (leave func(), err error) {
	q.mu.Lock()
	if q.free > 0 && len(q.turns) == 0 {
		q.free--
		q.mu.Unlock()
		return q.leaver(), nil
	}
	if len(q.waiting[asker]) >= q.most {
		busy := q.busy()
		q.mu.Unlock()
		return nil, busy
	}
	t := &ticket{called: make(chan struct{})}
	if len(q.waiting[asker]) == 0 {
		q.turns = append(q.turns, asker)
	}
	q.waiting[asker] = append(q.waiting[asker], t)
	q.mu.Unlock()

	limit := time.NewTimer(q.longest)
	defer limit.Stop()
	select {
	case <-t.called:
		return q.leaver(), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.remove(asker, t) { // called meanwhile
		q.release()
	}
	if err == nil {
		err = q.busy()
	}
	return nil, err
}

// busy says when to come back: when those who wait now have had their turn.
func (q *queue) busy() *problem {
	wait := time.Duration(q.seconds * float64(q.length()) / float64(q.places) * float64(time.Second))
	return &problem{status: http.StatusTooManyRequests, outcome: outcomeBusy, text: "too many queries are waiting", hint: "ask again after the seconds of Retry-After",
		retry: min(max(wait, time.Second), time.Minute)}
}

func (q *queue) leaver() func() {
	began := time.Now()
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.seconds += (time.Since(began).Seconds() - q.seconds) / 8
		q.release()
	})
}

// release gives the place to the next asker in turn, or back.
func (q *queue) release() {
	if len(q.turns) == 0 {
		q.free++
		return
	}
	asker := q.turns[0]
	q.turns = q.turns[1:]
	next := q.waiting[asker][0]
	if rest := q.waiting[asker][1:]; len(rest) > 0 {
		q.waiting[asker] = rest
		q.turns = append(q.turns, asker)
	} else {
		delete(q.waiting, asker)
	}
	close(next.called)
}

// remove takes a ticket back; false: it was called already.
func (q *queue) remove(asker string, t *ticket) bool {
	i := slices.Index(q.waiting[asker], t)
	if i < 0 {
		return false
	}
	q.waiting[asker] = slices.Delete(q.waiting[asker], i, i+1)
	if len(q.waiting[asker]) == 0 {
		delete(q.waiting, asker)
		q.turns = slices.DeleteFunc(q.turns, func(name string) bool { return name == asker })
	}
	return true
}

// length is how many wait; the caller holds the lock.
func (q *queue) length() int {
	count := 0
	for _, tickets := range q.waiting {
		count += len(tickets)
	}
	return count
}

func (q *queue) now() (waiting, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.length(), q.places - q.free
}
