package vllmsim

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/engine"
)

// stepper runs the scheduler's steps against the clock. A step starts at the
// instant when the one before was due to end, not when the goroutine woke, so
// late wake-ups do not add up. Requests that arrive during a step join at its
// end, or a step later where the next one has been put together by then (asynchronous scheduling), as in vLLM.
//
// One loop of run is: take what connections have posted, schedule a step, sleep
// for its StepTime, complete it, hand its tokens to the streams, and let each
// of these write once. The scheduler belongs to the engine's goroutine alone.
// Connections only post functions to the inbox.
type stepper struct {
	server *Server
	sched  *engine.Scheduler
	waker  waker

	mu        sync.Mutex
	inbox     []func() // work that connections posted, done between two steps
	isIdle    bool
	wokenAt   time.Time // when an idle engine got its first work
	isClosing bool

	waiting   atomic.Int64 // as of the last step: more the frontend does not know
	sequences map[*stream][]*engine.Sequence
	yielded   []delivery     // of this step
	late      []lateSequence // that the next step cannot take
	closed    time.Time      // when the next step was put together; zero: there is none
	desk      *desk          // between the engine and its clients; nil: nothing is
}

// delivery is a token that the engine has made of an output.
type delivery struct {
	stream *stream
	choice int
	tokens int
	finish finishReason
	cached int
	times  sequenceTimes
}

// lateSequence has arrived and is not yet in the scheduler's queue.
type lateSequence struct {
	*engine.Sequence
	arrived time.Time
}

// mostLag is how far the engine may fall behind its timeline before it stops
// catching up. A machine that was suspended must not answer with a burst.
const mostLag = 250 * time.Millisecond

// output is a sequence, and the stream that its tokens go to.
type output struct {
	engine.Sequence
	stream *stream
	choice int
	times  sequenceTimes
}

func newOutput(st *stream, choice int, queued time.Duration) *output {
	c := &st.choices[choice]
	o := &output{stream: st, choice: choice, times: sequenceTimes{queued: queued}}
	o.Sequence = engine.Sequence{Prompt: len(c.prompt.ids), Output: c.tokens, Findable: math.MaxInt, Owner: o, Prefix: &engine.Tokens{
		Prompt: c.prompt.ids, Output: c.sampling.token, Start: c.prompt.start,
		Hashes: c.prompt.hashes[:len(c.prompt.hashes):len(c.prompt.hashes)], // appended to by each of n outputs
	}}
	return o
}

func newStepper(s *Server) *stepper {
	e := &stepper{server: s, sched: engine.NewScheduler(s.cfg.Config), sequences: map[*stream][]*engine.Sequence{}}
	e.desk = newDesk(s.cfg.Frontend, func(all []*stream) {
		if !e.enter(all...) {
			for _, st := range all {
				st.refuse(engineGone())
			}
		}
	})
	return e
}

func (e *stepper) wakeBy(make func() waker) {
	e.waker = make()
	if e.desk != nil {
		e.desk.waker = make()
	}
}

func (e *stepper) submit(st *stream) *apiError {
	if limit := e.server.cfg.MaxQueuedReqs; limit > 0 && e.waiting.Load() >= int64(limit) {
		e.server.metrics.reject()
		return queueFull()
	}
	if e.desk == nil {
		if !e.enter(st) {
			return engineGone()
		}
		return nil
	}
	prompt := 0
	for i := range st.choices {
		prompt += len(st.choices[i].prompt.ids)
	}
	e.desk.takeIn(prompt, st)
	return nil
}

// enter posts streams to the engine, which gets them at once. It returns false when that is ending.
func (e *stepper) enter(all ...*stream) bool {
	arrived := time.Now()
	return e.post(func() {
		for _, st := range all {
			e.accept(st, arrived)
		}
	})
}

func (e *stepper) abandon(st *stream) { e.post(func() { e.abort(st) }) }

// post hands work to the engine's goroutine. It returns false when that is
// ending.
func (e *stepper) post(do func()) bool {
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

func (e *stepper) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isClosing = true
	e.waker.wake()
}

// resetPrefixCache forgets the cached blocks, unless one of them is in use.
func (e *stepper) resetPrefixCache() bool {
	done := make(chan bool, 1)
	if !e.post(func() { done <- e.sched.ResetPrefixCache() }) {
		return false
	}
	return <-done
}

func (e *stepper) run() {
	defer e.waker.close()
	if e.desk != nil {
		go e.desk.run()
		defer e.desk.close()
	}
	clock := time.Now()
	for e.takeIn() {
		e.join()
		if e.sched.IsIdle() {
			e.sched.Rest()
			e.publish()
			clock = e.rest(clock)
			continue
		}
		b := e.sched.Schedule()
		e.begin(&b)
		e.closed = clock.Add(e.server.cfg.Submit)
		clock = clock.Add(max(e.server.cfg.StepTime(b.Step), 0))
		if !e.waitUntil(clock) {
			break
		}
		if now := time.Now(); now.Sub(clock) > mostLag {
			clock = now
		}
		e.finish(b, clock)
	}
	e.abortAll()
}

// join lets those into the queue that had arrived when the next step was put together.
func (e *stepper) join() {
	isIdle := e.sched.IsIdle()
	n := 0
	for ; n < len(e.late) && (isIdle || !e.late[n].arrived.After(e.closed)); n++ {
		if !e.late[n].IsGone {
			e.sched.Add(e.late[n].Sequence)
		}
	}
	e.late = slices.Delete(e.late, 0, n)
}

// takeIn does the work in the inbox and returns false when the engine is to
// end. It does not hold the lock meanwhile, so that no connection waits for it.
func (e *stepper) takeIn() bool {
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
func (e *stepper) rest(clock time.Time) time.Time {
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
func (e *stepper) waitUntil(end time.Time) bool {
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
func (e *stepper) accept(st *stream, arrived time.Time) {
	if st.isLeft() {
		return
	}
	_, waiting := e.sched.Load()
	waiting += len(e.late)
	if limit := e.server.cfg.MaxQueuedReqs; limit > 0 && waiting >= limit {
		e.server.metrics.reject()
		st.refuse(queueFull())
		return
	}
	now := e.server.sinceStart()
	for i := range st.choices {
		q := &newOutput(st, i, now).Sequence
		e.sequences[st] = append(e.sequences[st], q)
		if e.server.cfg.IsAsync {
			e.late = append(e.late, lateSequence{q, arrived})
		} else {
			e.sched.Add(q)
		}
	}
}

func (e *stepper) abort(st *stream) {
	e.sched.Abort(e.sequences[st]...)
	delete(e.sequences, st)
}

// begin records what the step that starts now holds. The waiting time of a
// preempted sequence ended when it was first scheduled.
func (e *stepper) begin(b *engine.Batch) {
	now := e.server.sinceStart()
	for _, q := range b.Admitted {
		if q.Preemptions == 0 {
			q.Owner.(*output).times.scheduled = now
		}
	}
	m := e.server.metrics
	m.mu.Lock()
	m.preemptions += uint64(len(b.Preempted))
	m.prefixQueries += uint64(b.Queried)
	m.prefixHits += uint64(b.Hit)
	m.mu.Unlock()
	e.publish()
}

// publish sets the gauges of /metrics.
func (e *stepper) publish() {
	running, waiting := e.sched.Load()
	waiting += len(e.late)
	e.waiting.Store(int64(waiting))
	m := e.server.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.waiting, m.kvUsage = running, waiting, e.sched.Usage()
}

// finish ends a step that was due to end at an instant: its tokens go to the streams, then each of these streams
// writes once, when the desk gets to it.
func (e *stepper) finish(b engine.Batch, end time.Time) {
	yielded := e.sched.Complete(b)
	now := e.server.sinceStart()
	e.yielded = e.yielded[:0]
	m := e.server.metrics
	m.mu.Lock()
	tokens := 0
	for _, q := range yielded {
		tokens += e.yield(q.Owner.(*output), now)
	}
	if len(yielded) > 0 {
		m.iterationTokens.observe(float64(tokens))
	}
	m.mu.Unlock()
	if e.desk == nil || len(yielded) == 0 {
		deliver(e.yielded)
	} else {
		tokens := slices.Clone(e.yielded)
		e.desk.send(end, len(yielded), func() { deliver(tokens) })
	}
	clear(e.yielded) // an idle engine holds no answer
}

// deliver hands a step's tokens to their streams, each of which then writes once. Outputs of one stream follow each other.
func deliver(tokens []delivery) {
	for i, d := range tokens {
		d.stream.deliver(d.choice, d.tokens, d.finish, d.cached, d.times)
		if i+1 == len(tokens) || tokens[i+1].stream != d.stream {
			d.stream.flush()
		}
	}
}

// yield hands on q's newest token and counts it. It returns the tokens that
// this sequence adds to the step as vLLM counts them: the uncached part of a
// prompt counts as a whole in the step of its first token. The metrics' lock is
// held.
func (e *stepper) yield(q *output, now time.Duration) int {
	m, tokens := e.server.metrics, q.Yielded
	if q.Generated == 1 {
		q.times.first = now
		m.firstToken(q.Prompt, q.Cached, now-q.stream.began)
		tokens += q.Prompt - max(q.Cached, 0)
	} else {
		m.gap(now-q.times.last, q.Yielded)
		if e.server.cfg.Drafts > 0 {
			m.drafts++
			m.acceptedTokens += uint64(q.Yielded - 1)
		}
	}
	q.times.last = now
	finish := finishReason("")
	if q.IsGone {
		c := &q.stream.choices[q.choice]
		finish = c.why
		m.finished(q, finish, now)
		e.forget(q.stream)
	}
	e.yielded = append(e.yielded, delivery{q.stream, q.choice, q.Yielded, finish, max(q.Cached, 0), q.times})
	return tokens
}

// forget drops the leading outputs of a stream that have ended, so that an
// answer of thousands does not hold them all until its last one.
func (e *stepper) forget(st *stream) {
	rest := e.sequences[st]
	for len(rest) > 0 && rest[0].IsGone {
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
func (e *stepper) abortAll() {
	now := e.server.sinceStart()
	for st, sequences := range e.sequences {
		for _, s := range sequences {
			q := s.Owner.(*output)
			if q.IsGone {
				continue
			}
			m := e.server.metrics
			m.mu.Lock()
			m.finished(q, finishAbort, now)
			m.mu.Unlock()
			st.deliver(q.choice, 0, finishAbort, max(q.Cached, 0), q.times)
		}
		e.sched.Abort(sequences...)
		st.flush()
	}
	clear(e.sequences)
	e.publish()
}
