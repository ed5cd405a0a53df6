package engine

import (
	"time"

	"tidemark/internal/heap"
)

// Frontend is what stands between an engine and its clients: an API server such as vLLM's. One thread takes requests in and
// sends tokens out, first come first served. A request comes to it twice: to be read, and, behind whatever came in the meantime, to
// be taken in. Requests that wait together to be taken in are handed to the engine together, with the last of them: an event loop
// works on all of them by turns, and of a burst of 64 the engine gets 1 and then 63 (docs/evidence.md). The engine does not wait
// for the thread; the clients do. The zero value takes no time.
type Frontend struct {
	Servers        int           // that share the requests evenly; 0 is 1. They are played as one thread that is so many times as fast
	Way            time.Duration // of every request until it reaches the thread
	WayToken       time.Duration // and for each token of its prompt
	Admission      time.Duration // of the thread, for each request
	AdmissionToken time.Duration // and for each token of its prompt
	Send           time.Duration // for each step that yields tokens
	SendToken      time.Duration // and for each of these
	SendCrowd      time.Duration // and for each of these and each other one: with many streams each takes longer
}

// Sends is what the thread takes to send so many tokens of one step.
func (f *Frontend) Sends(tokens int) time.Duration {
	tokens = ceilDiv(tokens, max(f.Servers, 1)) // of one server
	return f.Send + time.Duration(tokens)*(f.SendToken+time.Duration(tokens-1)*f.SendCrowd)
}

// Admits is what the thread takes for a request of so many prompt tokens, half of it each time.
func (f *Frontend) Admits(prompt int) time.Duration {
	return (f.Admission + time.Duration(prompt)*f.AdmissionToken) / time.Duration(max(f.Servers, 1))
}

// IsNone says that requests and tokens pass at once.
func (f Frontend) IsNone() bool {
	f.Servers = 0
	return f == Frontend{}
}

// thread is the frontend's one thread.
type thread struct {
	Frontend
	free   time.Duration // when it has done all that it was given
	begins time.Duration // with the requests that it takes in together, the newest
}

// read is when a request has been read that came to the thread at that instant.
func (t *thread) read(at time.Duration, prompt int) time.Duration {
	t.free = max(t.free, at) + t.Admits(prompt)/2
	return t.free
}

// take is when a request is in that came back to the thread at that instant, and with it all that it is taken in together with: those that came
// while the thread had not begun with the first of them.
func (t *thread) take(at time.Duration, prompt int) time.Duration {
	if at > t.begins {
		t.begins = max(t.free, at)
	}
	return t.read(at, prompt)
}

// send puts the tokens of those steps of a stretch on their way that have ended by an instant, and says when the last of them
// are out. It remembers how far it came. Without a thread they are out with the end of their step.
func (t *thread) send(s *stretch, until time.Duration, tokens int) time.Duration {
	if t == nil || tokens == 0 {
		return until
	}
	for n := len(s.sent); n < s.steps; n++ {
		end := s.start + s.elapsed(n+1)
		if end > until {
			break
		}
		t.free = max(t.free, end) + t.Sends(tokens)
		s.sent = append(s.sent, t.free)
	}
	return t.free
}

// Server is an engine behind its frontend, in virtual time. It is driven as Virtual is. A request that is sent waits for the
// thread, then for the engine; its tokens wait for the thread again.
type Server struct {
	engine   *Virtual
	thread   *thread         // nil: requests and tokens pass at once
	came     int             // how often a request was put among those that are coming
	coming   heap.Heap[*Job] // on their way to the thread, the first time or the second; by Job.in
	admitted []batch         // by the thread, not yet in the engine
	leaving  []*Job          // the engine is done with them, the thread is not: until Job.Last
}

// batch is what the thread takes in together.
type batch struct {
	in   time.Duration // when the engine has it
	jobs []*Job
}

// NewServer is an idle server at instant 0; see NewVirtual.
func NewServer(cfg Config, n Noise, keepsTokens bool) (*Server, error) {
	v, err := NewVirtual(cfg, n, keepsTokens)
	if err != nil {
		return nil, err
	}
	s := &Server{engine: v, coming: heap.New(func(a, b *Job) bool { return a.in < b.in || a.in == b.in && a.came < b.came })}
	if !cfg.Frontend.IsNone() {
		s.thread = &thread{Frontend: cfg.Frontend, begins: -1}
		v.thread = s.thread
	}
	return s, nil
}

// Fits says why the engine could never serve a request, like a server that answers 400.
func (s *Server) Fits(job *Job) error { return s.engine.Fits(job) }

// Add lets a request be sent. The instant must not lie before one that the server was told of, nor after End.
func (s *Server) Add(job *Job, at time.Duration) {
	if s.thread == nil {
		s.engine.Add(job, at)
		return
	}
	job.sent, job.in = at, at+s.thread.Way+time.Duration(job.Prompt)*s.thread.WayToken
	s.come(job)
}

// come puts a request among those that come to the thread, by the instant at which it will be there: a shorter prompt overtakes.
func (s *Server) come(job *Job) {
	s.came++
	job.came = s.came
	s.coming.Add(job)
}

// End is the next instant at which something happens; Never when nothing is there.
func (s *Server) End() time.Duration {
	at := s.engine.End()
	if s.coming.Len() > 0 {
		at = min(at, s.coming.First().in)
	}
	if len(s.admitted) > 0 {
		at = min(at, s.admitted[0].in)
	}
	if len(s.leaving) > 0 {
		at = min(at, s.leaving[0].Last)
	}
	return at
}

// Finish does what happens at End, and passes each request to ended whose last token is out.
func (s *Server) Finish(ended func(*Job)) {
	at := s.End()
	if s.thread == nil {
		s.engine.Finish(ended)
		return
	}
	for len(s.leaving) > 0 && s.leaving[0].Last == at {
		job := pop(&s.leaving)
		job.Arrived = job.sent
		ended(job)
	}
	if s.engine.End() == at {
		s.engine.Finish(func(job *Job) {
			if s.engine.keepsIt {
				job.tokens = s.engine.TokenTimes(nil, job)
			}
			s.leaving = append(s.leaving, job)
		})
	}
	for s.coming.Len() > 0 && s.coming.First().in == at {
		s.engine.sendUntil(at) // what came to the thread before it
		job := s.coming.Take()
		if !job.isRead {
			job.isRead, job.in = true, s.thread.read(at, job.Prompt)
			s.come(job)
			continue
		}
		in := s.thread.take(at, job.Prompt)
		if last := len(s.admitted) - 1; last < 0 || s.admitted[last].in <= s.thread.begins {
			s.admitted = append(s.admitted, batch{})
		}
		last := &s.admitted[len(s.admitted)-1]
		last.in, last.jobs = in, append(last.jobs, job)
	}
	for len(s.admitted) > 0 && s.admitted[0].in == at {
		for _, job := range s.admitted[0].jobs {
			s.engine.Add(job, at)
		}
		s.admitted = s.admitted[1:]
	}
}

// TokenTimes appends the instant at which each token of a job was out. It must be called from within ended.
func (s *Server) TokenTimes(dst []time.Duration, job *Job) []time.Duration {
	if s.thread == nil {
		return s.engine.TokenTimes(dst, job)
	}
	return append(dst, job.tokens...)
}

// Counts is the engine's state at an instant before End.
func (s *Server) Counts(at time.Duration) Counts { return s.engine.Counts(at) }

// Load is how many requests the server has, wherever they are.
func (s *Server) Load() int {
	n := s.engine.Load() + s.coming.Len() + len(s.leaving)
	for _, b := range s.admitted {
		n += len(b.jobs)
	}
	return n
}

func pop(queue *[]*Job) *Job {
	job := (*queue)[0]
	(*queue)[0] = nil // the array keeps what lies before the queue
	*queue = (*queue)[1:]
	return job
}
