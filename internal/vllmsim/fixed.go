package vllmsim

import (
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/engine"
)

// pacer hands out tokens at exact instants (Config.Fixed). One goroutine serves
// all streams. All streams have the same TTFT and TPOT, so first tokens fall
// due in order of arrival, and later ones in the order in which the tokens
// before them fell due. Two queues therefore hold all deadlines in order,
// without a heap.
type pacer struct {
	server *Server
	fixed  Fixed
	waker  waker
	active atomic.Int64

	mu        sync.Mutex
	first     dueQueue
	next      dueQueue
	sleepsTo  time.Duration // the deadline that the goroutine waits for; never: there is none
	isAsleep  bool
	isClosing bool
}

const never time.Duration = 1<<63 - 1

// paced is one stream's next deadline.
type paced struct {
	stream *stream
	due    time.Duration // since the server started
	made   int           // tokens of each of its choices so far
	times  sequenceTimes
}

func (p *pacer) wakeBy(make func() waker) { p.waker = make() }

func (p *pacer) submit(st *stream) *apiError {
	x := &paced{stream: st, due: st.began + p.fixed.TTFT}
	x.times.queued, x.times.scheduled = st.began, st.began
	if !p.take(x) {
		return engineGone()
	}
	p.publish()
	return nil
}

// take queues a stream's first token and wakes the goroutine if this is the
// earliest deadline. It returns false when the pacer is ending.
func (p *pacer) take(x *paced) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosing {
		return false
	}
	p.active.Add(1)
	p.first.push(x)
	if p.isAsleep && x.due < p.sleepsTo {
		p.isAsleep = false
		p.waker.wake()
	}
	return true
}

// abandon leaves the deadline in its queue, where a search would cost more, but
// frees what the stream would hold until then.
func (p *pacer) abandon(st *stream) {
	st.choices, st.request.prompts, st.buf = nil, nil, nil
	p.active.Add(-1)
	p.publish()
}

func (p *pacer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isClosing = true
	p.waker.wake()
}

func (p *pacer) run() {
	defer p.waker.close()
	for {
		x, until, isClosing := p.pop()
		switch {
		case isClosing:
			p.abortAll()
			return
		case x != nil:
			p.emit(x)
		case until == never:
			p.publish()
			p.waker.wait(time.Time{})
		default:
			p.waker.wait(p.server.begin.Add(until))
		}
	}
}

// pop takes the earliest deadline if it has passed, and otherwise says when it
// will.
func (p *pacer) pop() (x *paced, until time.Duration, isClosing bool) {
	now := p.server.sinceStart()
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.first
	if p.next.due() < q.due() {
		q = &p.next
	}
	until = q.due()
	if p.isClosing || until > now {
		p.isAsleep, p.sleepsTo = true, until
		return nil, until, p.isClosing
	}
	p.isAsleep = false
	return q.pop(), 0, false
}

// emit hands out the token that is due, together with those that have fallen
// due since: a late server merges tokens, it does not shift the schedule.
func (p *pacer) emit(x *paced) {
	st := x.stream
	now := p.server.sinceStart()
	most := st.mostTokens() - x.made
	n := most
	if p.fixed.TPOT > 0 {
		n = min(most, 1+int((now-x.due)/p.fixed.TPOT))
	}
	if !p.hand(x, n, now) {
		return
	}
	x.made += n
	if n == most {
		p.active.Add(-1)
		return
	}
	x.due += time.Duration(n) * p.fixed.TPOT
	p.mu.Lock()
	p.next.push(x)
	p.mu.Unlock()
}

// mostTokens is the length of the longest output; 0 once the stream is
// abandoned.
func (s *stream) mostTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 0
	for i := range s.choices {
		most = max(most, s.choices[i].tokens)
	}
	return most
}

// hand gives n more tokens of each choice to the stream and writes them. It
// returns false when the client has left. The metrics' lock is taken inside the
// stream's lock; the engine takes them in the other order, but never runs in
// the same server as a pacer.
func (p *pacer) hand(x *paced, n int, now time.Duration) bool {
	st := x.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.isOver {
		return false
	}
	p.count(x, n, now)
	for i := range st.choices {
		c := &st.choices[i]
		k := min(n, c.tokens-x.made)
		if k <= 0 {
			continue
		}
		why := finishReason("")
		if x.made+k == c.tokens {
			why = c.why
		}
		st.take(i, k, why, 0, x.times)
	}
	st.write()
	return true
}

// count updates the metrics for n more tokens of each choice.
func (p *pacer) count(x *paced, n int, now time.Duration) {
	m, st := p.server.metrics, x.stream
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = int(p.active.Load())
	before := x.times
	if x.made == 0 {
		x.times.first, before.last = now, now
	}
	x.times.last = now
	total := 0
	for i := range st.choices {
		c := &st.choices[i]
		k := min(n, c.tokens-x.made)
		if k <= 0 {
			continue
		}
		total += k
		gaps := k
		if x.made == 0 {
			m.firstToken(len(c.prompt.ids), 0, now-st.began)
			total += len(c.prompt.ids)
			gaps--
		}
		for range gaps {
			m.gap((now-before.last)/time.Duration(gaps), 1)
		}
		if x.made+k == c.tokens {
			q := &output{Sequence: engine.Sequence{Prompt: len(c.prompt.ids), Generated: c.tokens}, stream: st, choice: i, times: x.times}
			m.finished(q, c.why, now)
		}
	}
	m.iterationTokens.observe(float64(total))
}

func (p *pacer) publish() {
	m := p.server.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = int(p.active.Load())
}

// abortAll ends every stream with finish_reason "abort".
func (p *pacer) abortAll() {
	now := p.server.sinceStart()
	for _, q := range []*dueQueue{&p.first, &p.next} {
		for q.due() != never {
			p.abort(q.pop(), now)
		}
	}
	p.active.Store(0)
	p.publish()
}

func (p *pacer) abort(x *paced, now time.Duration) {
	m, st := p.server.metrics, x.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.isOver {
		return
	}
	for i := range st.choices {
		if c := &st.choices[i]; x.made < c.tokens {
			m.mu.Lock()
			m.finished(&output{Sequence: engine.Sequence{Prompt: len(c.prompt.ids), Generated: x.made}, stream: st, choice: i, times: x.times}, finishAbort, now)
			m.mu.Unlock()
			st.take(i, 0, finishAbort, 0, x.times)
		}
	}
	st.write()
}

// dueQueue is a queue ordered by deadline. Entries arrive nearly in order, so
// an insertion at the end moves past a few others at most.
type dueQueue struct {
	items []*paced
	head  int
}

func (q *dueQueue) due() time.Duration {
	if q.head == len(q.items) {
		return never
	}
	return q.items[q.head].due
}

// push first reclaims the space in front of head once that is more than half of
// the slice.
func (q *dueQueue) push(x *paced) {
	if q.head > 1024 && q.head*2 > len(q.items) {
		kept := copy(q.items, q.items[q.head:])
		clear(q.items[kept:])
		q.items, q.head = q.items[:kept], 0
	}
	q.items = append(q.items, x)
	for i := len(q.items) - 1; i > q.head && q.items[i-1].due > x.due; i-- {
		q.items[i], q.items[i-1] = q.items[i-1], x
	}
}

func (q *dueQueue) pop() *paced {
	x := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return x
}
