package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"tidemark/internal/serve/worker"
)

// serveSQL answers POST /v1/sql.
func (s *Server) serveSQL(w http.ResponseWriter, r *http.Request, asker string) {
	began := time.Now()
	form, content, err := askedForm(r)
	var errand worker.Errand
	if err == nil {
		errand, err = readErrand(w, r)
	}
	if err != nil {
		s.refuse(w, err, began)
		return
	}
	errand.Form, errand.MostRows, errand.MostBytes = form, s.config.MostRows, s.config.MostBytes
	s.run(w, r, asker, errand, content, began)
}

// run sends the answer of one errand, or why there is none, and counts it.
func (s *Server) run(w http.ResponseWriter, r *http.Request, asker string, errand worker.Errand, content string, began time.Time) {
	a := &answer{w: w, form: errand.Form, content: content}
	rows, err := s.do(r.Context(), asker, errand, a)
	how := outcomeOK
	if err != nil {
		p := s.explain(r.Context(), err)
		how = p.outcome
		if a.isOpen && how != outcomeLeft {
			how = outcomeCut
		}
		// A broken connection ends the handler by a panic, so this comes first.
		s.counters.count(how, time.Since(began), 0, a.bytes)
		if a.isOpen {
			a.breakOff(p)
		} else {
			p.write(w)
		}
		return
	}
	s.counters.count(how, time.Since(began), rows, a.bytes)
}

func (s *Server) refuse(w http.ResponseWriter, err error, began time.Time) {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{status: http.StatusInternalServerError, outcome: outcomeFailed, text: "the server failed"}
	}
	s.counters.count(p.outcome, time.Since(began), 0, 0)
	p.write(w)
}

// errDeadline is the cause of a context that ends by --timeout.
var errDeadline = errors.New("the query took too long")

// do waits for a turn, then lets a process do the errand. The process ends with the client's interest, and at the deadline.
func (s *Server) do(whole context.Context, asker string, errand worker.Errand, a *answer) (rows int64, err error) {
	leave, err := s.queue.enter(whole, asker)
	if err != nil {
		return 0, err
	}
	defer leave()
	stopping, stop := context.WithCancel(whole)
	defer stop()
	defer context.AfterFunc(s.stop, stop)()
	o, err := s.process(stopping, errand)
	if err != nil {
		return 0, err
	}
	defer s.pool.refill()
	defer s.pool.end(o)
	// What is started ahead costs this query time, so it waits until the end unless none is left.
	if s.pool.waiting() == 0 {
		s.pool.refill()
	}
	// The time to start a process is the server's, not the query's.
	ctx, cancel := context.WithTimeoutCause(stopping, s.config.Timeout, errDeadline)
	defer cancel()
	// A client that does not read its answer must not hold the place for longer.
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(s.config.Timeout + 5*time.Second))
	killed := context.AfterFunc(ctx, func() { _ = o.cmd.Process.Kill() })
	defer killed()
	a.published = o.of.publishedAt()
	rows, err = pass(o, errand, a)
	return rows, orCause(ctx, err)
}

// process is one that can take the errand: a query's waits already, if none was asked a moment ago.
func (s *Server) process(ctx context.Context, errand worker.Errand) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, longestStart)
	defer cancel()
	if errand.Page != (worker.Page{}) {
		return s.pool.start(ctx, true)
	}
	return s.pool.take(ctx)
}

// orCause prefers why the process was killed to what that looked like.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// pass hands on what the process says until it has said all.
func pass(o *process, errand worker.Errand, a *answer) (rows int64, err error) {
	if err := o.send(errand); err != nil {
		return 0, died(o, err)
	}
	<-o.stirred
	for {
		kind, payload, err := o.next()
		if err != nil {
			return 0, died(o, err)
		}
		switch kind {
		case worker.FrameHead:
			var head worker.Head
			if err := json.Unmarshal(payload, &head); err != nil {
				return 0, err
			}
			a.open(head)
		case worker.FrameData, worker.FramePart:
			if len(payload) == 0 {
				a.isPart = kind == worker.FramePart
				continue
			}
			if err := a.data(payload, kind == worker.FramePart); err != nil {
				return 0, fmt.Errorf("%w: %w", errLeft, err)
			}
		case worker.FrameEnd:
			var end worker.End
			if err := json.Unmarshal(payload, &end); err != nil {
				return 0, err
			}
			a.end(end)
			return end.Rows, nil
		case worker.FrameError:
			return 0, failureIn(payload)
		}
	}
}

// errLeft marks an answer that nobody reads any more.
var errLeft = errors.New("the client has left")

// errDied marks a process that ended without a word, which is what too little memory looks like.
var errDied = errors.New("the worker died")

// errKilled marks a process that somebody else killed, as Linux does when the machine has no memory left.
var errKilled = errors.New("the worker was killed from outside")

func died(o *process, err error) error {
	how := errDied
	own := time.AfterFunc(time.Second, func() { _ = o.cmd.Process.Kill() }) // one that is still there
	_ = o.cmd.Wait()                                                        // for all of what it said
	wasThere := !own.Stop()
	said := o.said.firstLine()
	if state := o.cmd.ProcessState; state != nil {
		if status, is := state.Sys().(syscall.WaitStatus); is && status.Signaled() && status.Signal() == syscall.SIGKILL && !wasThere {
			how = errKilled
		}
		said = state.String() + " " + said
	}
	return fmt.Errorf("%w: %w (%s)", how, err, said)
}

// explain makes what the client is told of an error.
func (s *Server) explain(ctx context.Context, err error) *problem {
	var p *problem
	var failure *worker.Failure
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, errDeadline):
		return &problem{status: http.StatusRequestTimeout, outcome: outcomeDeadline, text: fmt.Sprintf("the query was stopped after %s", s.config.Timeout),
			hint: "ask for less, or start the server with a longer --timeout"}
	case s.stop.Err() != nil:
		return &problem{status: http.StatusServiceUnavailable, outcome: outcomeFailed, text: "the server is being stopped", retry: 10 * time.Second}
	case errors.Is(err, errLeft), ctx.Err() != nil:
		return &problem{status: 499, outcome: outcomeLeft, text: "the client has left"}
	case errors.Is(err, errNotStarted):
		s.config.Tell("%v", err)
		return &problem{status: http.StatusServiceUnavailable, outcome: outcomeFailed, text: "no worker could be started for the query", hint: "the server's own messages say why", retry: 10 * time.Second}
	case errors.As(err, &failure):
		return s.problemOf(failure)
	case errors.Is(err, errKilled):
		s.config.Tell("%v", err)
		return &problem{status: http.StatusServiceUnavailable, outcome: outcomeFailed, text: "the query's process was killed from outside",
			hint: "the machine may have no memory left: ask for less at once, or start the server with fewer --workers or less --memory", retry: 10 * time.Second}
	case errors.Is(err, errDied):
		s.config.Tell("%v", err)
		return memoryProblem()
	}
	s.config.Tell("%v", err)
	return &problem{status: http.StatusInternalServerError, outcome: outcomeFailed, text: "the server failed", hint: "its own messages say why"}
}

func (s *Server) problemOf(f *worker.Failure) *problem {
	p := &problem{status: http.StatusBadRequest, outcome: outcomeBad, text: f.Text, hint: f.Hint}
	switch f.Kind {
	case worker.Memory:
		return memoryProblem()
	case worker.Limit:
		p.status, p.outcome = http.StatusRequestEntityTooLarge, outcomeCut
	case worker.NoRun:
		p.status = http.StatusNotFound
	case worker.Broken:
		s.config.Tell("a worker: %s", f.Text)
		p = &problem{status: http.StatusInternalServerError, outcome: outcomeFailed, text: "the server failed at this query", hint: "its own messages say why"}
	}
	return p
}

func memoryProblem() *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, outcome: outcomeMemory, text: "the query needs more memory than it may take",
		hint: "ask for less at once: fewer columns, a shorter window, no order by; or start the server with more --memory"}
}

// collect does an errand whose answer the server itself reads.
func (s *Server) collect(ctx context.Context, asker string, errand worker.Errand) (*memory, error) {
	w := &memory{header: http.Header{}}
	_, err := s.do(ctx, asker, errand, &answer{w: w, form: errand.Form})
	return w, err
}

// memory takes the place of a client.
type memory struct {
	header http.Header
	body   bytes.Buffer
}

func (m *memory) Header() http.Header         { return m.header }
func (m *memory) Write(p []byte) (int, error) { return m.body.Write(p) }
func (m *memory) WriteHeader(int)             {}
func (m *memory) Flush()                      {}
