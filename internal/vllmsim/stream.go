package vllmsim

import (
	"net/http"
	"sync"
	"time"
)

// stream is one answer under way: tokens come in from a driver, chunks go out on
// the connection. The driver never waits for a reader: what the socket does not
// take at once is written by a goroutine of its own, and tokens that arrive
// meanwhile go into one chunk together, as vLLM merges deltas.
type stream struct {
	request *textRequest
	conn    *connection
	path    string
	driver  driver
	created int64         // Unix seconds
	began   time.Duration // last byte of the request read, since the server began
	done    chan struct{} // closed when the answer is out or given up

	mu         sync.Mutex
	choices    []choice
	head       []byte // of each chunk, up to the choice's index
	next       int    // choice to be rendered
	open       int    // choices not finished
	refusal    *apiError
	isHeaded   bool
	hasRoles   bool
	isRendered bool // the last byte is in buf
	isBusy     bool // a drain goroutine owns buf
	isOver     bool
	buf        []byte
	event      []byte // the chunk being made
	text       []byte // and its text
	truth      truth
	unsent     int       // tokens in buf that have not been handed to the socket
	siblings   []sibling // of the outputs of each prompt; the driver's
}

// choice is one output of the answer.
type choice struct {
	index     int
	prompt    *prompt
	sampling  sampling
	tokens    int          // it will have
	why       finishReason // it will end
	stopID    int32
	delivered int // tokens handed over by the driver
	written   int // and put into chunks
	finish    finishReason
	isClosed  bool // finish has been written
	held      []byte
	cached    int
	times     sequenceTimes
}

// sequenceTimes are instants of one output, since the server began.
type sequenceTimes struct{ queued, scheduled, first, last time.Duration }

// driver yields tokens: the engine, or the fixed-time pacer.
type driver interface {
	// submit takes over a stream; the refusal is for before anything was sent.
	submit(*stream) *apiError
	// abandon drops a stream whose outputs are not whole, once. The stream's lock is held.
	abandon(*stream)
	wakeBy(waker)
	run()
	close()
}

func newStream(c *connection, a *textRequest, path string, began time.Duration) *stream {
	c.server.answering.Add(1)
	s := &stream{request: a, conn: c, path: path, driver: c.server.driver, began: began, created: time.Now().Unix(), done: make(chan struct{})}
	s.truth = truth{id: a.id, arrived: c.arrived, began: began}
	s.choices, a.choices = a.choices, nil // the stream's alone: it lets go of them when it is abandoned
	s.head = s.chunkHead()
	s.open = len(s.choices)
	return s
}

// deliver hands over more tokens of a choice; finish is empty while it goes on.
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
			rest := s.buf[n:] // an abandoned stream lets go of buf
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

// drain writes rest and then whatever has come in meanwhile.
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

// end closes the connection where nothing can follow on it; mu is held.
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

// leave makes the stream over; mu is held.
func (s *stream) leave() {
	s.isOver = true
	s.conn.server.answering.Add(-1)
	close(s.done)
}

// drop leaves a stream that another answer takes the place of.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

// abandon gives the answer up: the client has left. vLLM aborts the request
// then, and so does this.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(true)
}
