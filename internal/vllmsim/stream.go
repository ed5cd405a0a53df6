package vllmsim

import (
	"net/http"
	"sync"
	"time"
)

// stream is one answer in progress: a driver delivers tokens, chunks leave on
// the connection. The driver never waits for a reader. What the socket does not
// take at once is written by a goroutine of the stream's own (drain), and
// tokens that arrive meanwhile share one chunk, as vLLM merges deltas.
//
// mu guards everything below it. isBusy hands buf to the drain goroutine; until
// that finishes nobody else renders.
type stream struct {
	request *textRequest
	conn    *connection
	path    string
	driver  driver
	created int64         // Unix seconds
	began   time.Duration // when the last byte of the request arrived, since the server started
	done    chan struct{} // closed when the answer is complete or abandoned

	mu         sync.Mutex
	choices    []choice
	head       []byte // of each chunk, up to the choice's index
	next       int    // choice to render next
	open       int    // choices that are not finished
	refusal    *apiError
	isHeaded   bool
	hasRoles   bool
	isRendered bool // the last byte is in buf
	isBusy     bool // a drain goroutine owns buf
	isOver     bool
	buf        []byte
	event      []byte // the chunk being rendered
	text       []byte // and its text
	truth      truth
	unsent     int       // tokens in buf that have not been handed to the socket
	siblings   []sibling // of the outputs of each prompt; only the driver uses them
}

// choice is one output of the answer.
type choice struct {
	index     int
	prompt    *prompt
	sampling  sampling
	tokens    int          // that it will have
	why       finishReason // why it will end
	stopID    int32
	delivered int // tokens handed over by the driver
	written   int // tokens put into chunks
	finish    finishReason
	isClosed  bool   // finish has been written
	held      []byte // an incomplete UTF-8 character
	cached    int
	times     sequenceTimes
}

// sequenceTimes are instants of one output, since the server started.
type sequenceTimes struct{ queued, scheduled, first, last time.Duration }

// driver makes tokens. There are two: the stepper, and the pacer of fixed times.
type driver interface {
	// submit takes over a stream. It can refuse only before anything was sent.
	submit(*stream) *apiError
	// abandon drops a stream whose outputs are incomplete. It is called once,
	// with the stream's lock held.
	abandon(*stream)
	wakeBy(func() waker)
	run()
	close()
}

func newStream(c *connection, a *textRequest, path string, began time.Duration) *stream {
	c.server.answering.Add(1)
	s := &stream{request: a, conn: c, path: path, driver: c.server.driver, began: began, created: time.Now().Unix(), done: make(chan struct{})}
	s.truth = truth{id: a.id, arrived: c.arrived, began: began}
	s.choices, a.choices = a.choices, nil // only the stream holds them, so that abandoning it frees them
	s.head = append(s.chunkStart(nil), `{"index":`...)
	s.open = len(s.choices)
	return s
}

// deliver hands over more tokens of a choice; finish is empty while it
// continues.
func (s *stream) deliver(choice, tokens int, finish finishReason, cached int, times sequenceTimes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(choice, tokens, finish, cached, times)
}

// take is deliver; mu is held.
func (s *stream) take(choice, tokens int, finish finishReason, cached int, times sequenceTimes) {
	c := &s.choices[choice]
	if c.finish != "" {
		return
	}
	c.delivered += tokens
	if finish != "" {
		c.finish, c.cached, c.times = finish, cached, times
		s.open--
	}
}

// refuse ends the answer with an error.
func (s *stream) refuse(why *apiError) {
	s.mu.Lock()
	s.refusal = why
	s.open = 0
	s.mu.Unlock()
	s.flush()
}

// flush writes what has been delivered, as far as the socket takes it.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write()
}

// write is flush; mu is held.
func (s *stream) write() {
	for !s.isBusy && !s.isOver {
		s.buf = s.render(s.buf[:0])
		if len(s.buf) == 0 {
			return
		}
		s.noteWrite()
		n, err := s.conn.tryWrite(s.buf)
		switch {
		case err != nil:
			s.end(true)
		case n < len(s.buf):
			s.isBusy = true
			rest := s.buf[n:] // abandoning the stream drops s.buf
			s.conn.server.work.Go(func() { s.drain(rest) })
		case s.isRendered:
			s.end(false)
		case !s.isBehind():
			return
		}
	}
}

// noteWrite is called right before a write; mu is held.
func (s *stream) noteWrite() {
	if s.conn.server.cfg.RecordTruth {
		s.truth.noteWrite(s.conn.server.sinceStart(), s.unsent)
	}
	s.unsent = 0
}

// drain writes rest, and then whatever was delivered meanwhile, waiting for a
// slow reader as long as it takes.
func (s *stream) drain(rest []byte) {
	for {
		_, err := s.conn.Conn.Write(rest)
		s.mu.Lock()
		if err != nil || s.isRendered {
			s.end(err != nil)
			s.mu.Unlock()
			return
		}
		if !s.isOver {
			s.buf = s.render(s.buf[:0])
		}
		if len(s.buf) == 0 || s.isOver {
			s.isBusy = false
			s.mu.Unlock()
			return
		}
		rest = s.buf
		s.noteWrite()
		s.mu.Unlock()
	}
}

// end closes the connection if no request can follow on it; mu is held.
func (s *stream) end(isBroken bool) {
	if s.isOver {
		return
	}
	if isBroken || s.conn.isLast {
		s.conn.Conn.Close()
	}
	s.conn.server.keepTruth(s, !isBroken)
	s.conn.server.metrics.answered(s.path, http.MethodPost, s.status())
	if isBroken && s.open > 0 {
		s.driver.abandon(s)
	}
	s.leave()
}

func (s *stream) status() int {
	if s.refusal != nil && !s.request.isStream {
		return s.refusal.code
	}
	return http.StatusOK
}

// leave marks the stream as over; mu is held.
func (s *stream) leave() {
	s.isOver = true
	s.conn.server.answering.Add(-1)
	close(s.done)
}

// isLeft says that the client has gone before the engine knew of it.
func (s *stream) isLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOver
}

// drop ends a stream that never starts, because a refusal is sent instead of
// it.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

// abandon gives the answer up because the client has left. vLLM aborts such a
// request, and so does this.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(true)
}
