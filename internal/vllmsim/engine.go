package vllmsim

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// engine runs the scheduler's steps against the clock. A step starts at the
// instant when the one before was due to end, not when the goroutine woke, so
// late wake-ups do not add up. Requests that arrive during a step join at its
// end, as in vLLM.
//
// One loop of run is: take what connections have posted, schedule a step, sleep
// for its StepTime, complete it, hand its tokens to the streams, and let each
// of these write once. The scheduler belongs to the engine's goroutine alone.
// Connections only post functions to the inbox.
type engine struct {
	server *Server
	sched  *scheduler
	waker  waker

	mu        sync.Mutex
	inbox     []func() // work that connections posted, done between two steps
	isIdle    bool
	wokenAt   time.Time // when an idle engine got its first work
	isClosing bool

	waiting   atomic.Int64 // as of the last step: more the frontend does not know
	sequences map[*stream][]*sequence
	touched   []*stream
}

// mostLag is how far the engine may fall behind its timeline before it stops
// catching up. A machine that was suspended must not answer with a burst.
const mostLag = 250 * time.Millisecond

// output is a sequence and whom its tokens are for.
type output struct {
	sequence
	stream *stream
	choice int
	times  sequenceTimes
}

func newOutput(st *stream, choice int, queued time.Duration) *output {
	c := &st.choices[choice]
	o := &output{stream: st, choice: choice, times: sequenceTimes{queued: queued}}
	o.sequence = sequence{prompt: len(c.prompt.ids), output: c.tokens, findable: math.MaxInt, owner: o, prefix: &tokens{
		prompt: c.prompt.ids, output: c.sampling.token, start: c.prompt.start,
		hashes: c.prompt.hashes[:len(c.prompt.hashes):len(c.prompt.hashes)], // appended to by each of n outputs
	}}
	return o
}

func newEngine(s *Server) *engine {
	return &engine{server: s, sched: newScheduler(s.cfg), sequences: map[*stream][]*sequence{}}
}

func (e *engine) wakeBy(w waker) { e.waker = w }

func (e *engine) submit(st *stream) *apiError {
	if limit := e.server.cfg.MaxQueuedReqs; limit > 0 && e.waiting.Load() >= int64(limit) {
		e.server.metrics.reject()
		return queueFull()
	}
	if !e.post(func() { e.accept(st) }) {
		return engineGone()
	}
	return nil
}

func (e *engine) abandon(st *stream) { e.post(func() { e.abort(st) }) }

// post hands work to the engine's goroutine. It returns false when that is
// ending.
func (e *engine) post(do func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isClosing {
		return false
	}
	e.inbox = append(e.inbox, do)
	if e.isIdle {
		e.isIdle = false
		e.wokenAt = time.Now()
		e.waker.wake()
	}
	return true
}

func (e *engine) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isClosing = true
	e.waker.wake()
}

// resetPrefixCache forgets the cached blocks, unless one of them is in use.
func (e *engine) resetPrefixCache() bool {
	done := make(chan bool, 1)
	if !e.post(func() { done <- e.sched.pool.reset() }) {
		return false
	}
	return <-done
}

func (e *engine) run() {
	defer e.waker.close()
	clock := time.Now()
	for e.takeIn() {
		if e.sched.isIdle() {
			e.sched.rest()
			e.publish()
			clock = e.rest(clock)
			continue
		}
		b := e.sched.schedule()
		e.begin(&b)
		clock = clock.Add(max(e.server.cfg.StepTime(b.step), 0))
		if !e.waitUntil(clock) {
			break
		}
		if now := time.Now(); now.Sub(clock) > mostLag {
			clock = now
		}
		e.finish(b)
	}
	e.abortAll()
}

// takeIn does the work in the inbox and returns false when the engine is to
// end. It does not hold the lock meanwhile, so that no connection waits for it.
func (e *engine) takeIn() bool {
	for {
		e.mu.Lock()
		inbox, isClosing := e.inbox, e.isClosing
		e.inbox = nil
		e.mu.Unlock()
		for _, do := range inbox {
			do()
		}
		if len(inbox) == 0 {
			return !isClosing
		}
	}
}

// rest waits for work and returns the instant when it came, which is when the
// next step starts.
func (e *engine) rest(clock time.Time) time.Time {
	e.mu.Lock()
	if len(e.inbox) > 0 || e.isClosing {
		e.mu.Unlock()
		return time.Now()
	}
	e.isIdle = true
	e.mu.Unlock()
	e.waker.wait(time.Time{})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isIdle { // woken for another reason
		e.isIdle = false
		return time.Now()
	}
	if e.wokenAt.After(clock) {
		return e.wokenAt
	}
	return clock
}

// waitUntil sleeps to the end of a step. It returns false when the engine is to
// end. Wake-ups before the end mean new work or closing, and work can wait.
func (e *engine) waitUntil(end time.Time) bool {
	for {
		e.mu.Lock()
		isClosing := e.isClosing
		e.mu.Unlock()
		if isClosing || !time.Now().Before(end) {
			return !isClosing
		}
		e.waker.wait(end)
	}
}

// accept turns each output of a request into a sequence. The queue limit is
// checked a second time here, because the connection saw a count that may be a
// step old.
func (e *engine) accept(st *stream) {
	if limit := e.server.cfg.MaxQueuedReqs; limit > 0 && len(e.sched.waiting) >= limit {
		e.server.metrics.reject()
		st.refuse(queueFull())
		return
	}
	now := e.server.sinceStart()
	for i := range st.choices {
		q := &newOutput(st, i, now).sequence
		e.sequences[st] = append(e.sequences[st], q)
		e.sched.add(q)
	}
}

func (e *engine) abort(st *stream) {
	e.sched.abort(e.sequences[st]...)
	delete(e.sequences, st)
}

// begin records what the step that starts now holds. The waiting time of a
// preempted sequence ended when it was first scheduled.
func (e *engine) begin(b *batch) {
	now := e.server.sinceStart()
	for _, q := range b.admitted {
		if q.preemptions == 0 {
			q.owner.(*output).times.scheduled = now
		}
	}
	m := e.server.metrics
	m.mu.Lock()
	m.preemptions += uint64(len(b.preempted))
	m.prefixQueries += uint64(b.queried)
	m.prefixHits += uint64(b.hit)
	m.mu.Unlock()
	e.publish()
}

// publish sets the gauges of /metrics.
func (e *engine) publish() {
	e.waiting.Store(int64(len(e.sched.waiting)))
	m := e.server.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.waiting, m.kvUsage = len(e.sched.running), len(e.sched.waiting), e.sched.usage()
}

// finish ends a step: its tokens go to the streams, then each of these streams
// writes once.
func (e *engine) finish(b batch) {
	yielded := e.sched.complete(b)
	now := e.server.sinceStart()
	e.touched = e.touched[:0]
	m := e.server.metrics
	m.mu.Lock()
	tokens := 0
	for _, q := range yielded {
		tokens += e.yield(q.owner.(*output), now)
	}
	if len(yielded) > 0 {
		m.iterationTokens.observe(float64(tokens))
	}
	m.mu.Unlock()
	for _, st := range e.touched {
		st.flush()
	}
	clear(e.touched) // an idle engine holds no answer
}

// yield hands on q's newest token and counts it. It returns the tokens that
// this sequence adds to the step as vLLM counts them: the uncached part of a
// prompt counts as a whole in the step of its first token. The metrics' lock is
// held.
func (e *engine) yield(q *output, now time.Duration) int {
	m, tokens := e.server.metrics, 1
	if q.generated == 1 {
		q.times.first = now
		m.firstToken(q.prompt, q.cached, now-q.stream.began)
		tokens += q.prompt - max(q.cached, 0)
	} else {
		m.gap(now - q.times.last)
	}
	q.times.last = now
	finish := finishReason("")
	if q.isGone {
		c := &q.stream.choices[q.choice]
		finish = c.why
		m.finished(q, finish, now)
		e.forget(q.stream)
	}
	q.stream.deliver(q.choice, 1, finish, max(q.cached, 0), q.times)
	if n := len(e.touched); n == 0 || e.touched[n-1] != q.stream {
		e.touched = append(e.touched, q.stream)
	}
	return tokens
}

// forget drops the leading outputs of a stream that have ended, so that an
// answer of thousands does not hold them all until its last one.
func (e *engine) forget(st *stream) {
	rest := e.sequences[st]
	for len(rest) > 0 && rest[0].isGone {
		rest[0], rest = nil, rest[1:]
	}
	if len(rest) == 0 {
		delete(e.sequences, st)
		return
	}
	e.sequences[st] = rest
}

// abortAll ends every stream with finish_reason "abort", as vLLM does on
// SIGTERM.
func (e *engine) abortAll() {
	now := e.server.sinceStart()
	for st, sequences := range e.sequences {
		for _, s := range sequences {
			q := s.owner.(*output)
			if q.isGone {
				continue
			}
			m := e.server.metrics
			m.mu.Lock()
			m.finished(q, finishAbort, now)
			m.mu.Unlock()
			st.deliver(q.choice, 0, finishAbort, max(q.cached, 0), q.times)
		}
		e.sched.abort(sequences...)
		st.flush()
	}
	clear(e.sequences)
	e.publish()
}
