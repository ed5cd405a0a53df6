package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tidemark/internal/engine"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// Settings say what is played on which servers. Engine.StepTime is needed; the rest has defaults.
type Settings struct {
	Engine   engine.Config // of one replica
	Noise    engine.Noise  // that makes steps uneven; each replica has a seed of its own
	Replicas int           // default 1
	Routing  string        // Turns (the default), LeastLoaded or Prefix

	Mode           string // schedule.Open (the default), Sessions or Closed
	MaxConcurrency int    // closed: requests in flight; else a cap over the due times; 0: no cap
	IsAnswered     bool   // later turns of a session repeat what was answered, as "--history answered"
	IsCold         bool   // no two requests share anything, as "--cache cold"

	KeepsTokens bool // Request.Tokens is filled
	// Sample is called for each replica at each whole second, and once at the end; nil: nobody samples.
	Sample func(at time.Duration, replica int, c engine.Counts)
	// Until ends the rehearsal at that instant: nothing more is sent, and what has not ended is not reported; 0: never.
	Until time.Duration
}

// Request is what became of a planned request. Instants are since the plan's zero.
type Request struct {
	plan.Request               // Due is when it really was due: the plan's own only in an open loop
	Held         time.Duration // waited for a slot under a cap
	Sent         time.Duration
	Entered      time.Duration // it reached the engine
	Scheduled    time.Duration // the engine admitted it
	First, Last  time.Duration // first and last token
	Cached       int           // prompt tokens that the prefix cache had
	Preemptions  int
	Recomputed   int     // tokens computed again after these
	EngineS      float64 // its share of the time of its engine's steps, seconds; where tokens are kept
	Replica      int
	Failure      string          // why it was refused; empty for a success
	Tokens       []time.Duration // the instant of each, where they are kept; valid during the call only
}

// TTFT is from the instant at which it was due, TPOT the mean over its tokens after the first, 0 for one token.
func (r *Request) TTFT() time.Duration { return r.First - r.Due }

// TPOT is the mean time of a token after the first; 0 where there is only one.
func (r *Request) TPOT() time.Duration {
	return (r.Last - r.First) / time.Duration(max(r.OutputTokens-1, 1))
}

// checkEvery is how many events pass between two checks of the context.
const checkEvery = 1 << 12

// Play plays the requests, which come in order of due time, and gives each to over when it has ended. The pointer is valid
// during the call only. An error of over ends the rehearsal.
func Play(ctx context.Context, s Settings, requests iter.Seq2[plan.Request, error], over func(*Request) error) error {
	p, err := newPlayer(s, over)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(requests)
	defer stop()
	p.next = next
	if err := p.read(); err != nil {
		return err
	}
	for events := 0; p.err == nil; events++ {
		at := p.upcoming()
		if at == schedule.Never || s.Until > 0 && at > s.Until {
			break
		}
		if events%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.sample(at)
		p.now = at
		p.send()
		for i, engine := range p.engines {
			if engine.End() == at {
				p.engine = i
				engine.Finish(p.ended)
			}
		}
	}
	p.sampleEnd()
	return p.err
}

// PlayAll plays requests that are all at hand.
func PlayAll(ctx context.Context, s Settings, requests []plan.Request, over func(*Request) error) error {
	return Play(ctx, s, plan.Each(shared(requests)), over)
}

// player is a rehearsal in progress.
type player struct {
	settings Settings
	over     func(*Request) error
	schedule *schedule.Schedule
	engines  []*engine.Server
	router   Router
	content  contents

	next   func() (plan.Request, error, bool)
	peeked *plan.Request // read from the plan and not yet due
	now    time.Duration
	engine int           // whose requests end
	second time.Duration // the next sample
	err    error

	tokens []time.Duration
}

// flight is a request on its way.
type flight struct {
	ticket  schedule.Ticket
	job     engine.Job
	replica int
}

func newPlayer(s Settings, over func(*Request) error) (*player, error) {
	s.Replicas = max(s.Replicas, 1)
	s.Mode = cmp.Or(s.Mode, schedule.Open)
	s.Routing = cmp.Or(s.Routing, Turns)
	switch {
	case !slices.Contains(Routings, s.Routing):
		return nil, fmt.Errorf("rehearsal: routing %q: must be %s", s.Routing, strings.Join(Routings, ", "))
	case s.Routing == Prefix && s.Replicas > mostMatched:
		return nil, fmt.Errorf("rehearsal: routing %s tells at most %d replicas apart, not %d", Prefix, mostMatched, s.Replicas)
	}
	p := &player{settings: s, over: over, schedule: schedule.New(s.Mode, s.MaxConcurrency, s.IsAnswered), second: time.Second}
	p.content = contents{isCached: s.Engine.EnablePrefixCaching, isCold: s.IsCold, isAnswered: p.schedule.KeepsIDs}
	for i := range s.Replicas {
		n := s.Noise
		n.Seed += uint64(i) << 32
		if s.Noise == (engine.Noise{}) {
			n = s.Noise
		}
		engine, err := engine.NewServer(s.Engine, n, s.KeepsTokens)
		if err != nil {
			return nil, err
		}
		p.engines = append(p.engines, engine)
	}
	p.router = Router{Routing: s.Routing, Replicas: len(p.engines), Load: func(i int) int { return p.engines[i].Load() }}
	return p, nil
}

// upcoming is the next instant at which something happens.
func (p *player) upcoming() time.Duration {
	at := p.schedule.NextRelease()
	if p.peeked != nil {
		switch {
		case !p.schedule.IsClosed:
			at = min(at, p.peeked.Due)
		case p.schedule.Room() > 0:
			at = p.now
		}
	}
	at = max(at, p.now)
	for _, engine := range p.engines {
		at = min(at, engine.End())
	}
	return at
}

// read takes the next request from the plan.
func (p *player) read() error {
	req, err, isThere := p.next()
	p.peeked = nil
	if err != nil || !isThere {
		return err
	}
	p.peeked = &req
	return nil
}

// send gives the schedule what is due, and the engines what the schedule lets go.
func (p *player) send() {
	for p.peeked != nil && p.err == nil && (p.schedule.IsClosed && p.schedule.Room() > 0 || !p.schedule.IsClosed && p.peeked.Due <= p.now) {
		f := &flight{}
		f.ticket.Req, f.ticket.Owner = *p.peeked, f
		p.schedule.Add(&f.ticket)
		p.err = p.read()
	}
	for p.schedule.Prepare(p.now) != nil {
	}
	for t := p.schedule.Release(p.now); t != nil; t = p.schedule.Release(p.now) {
		f := t.Owner.(*flight)
		f.job = engine.Job{Prompt: t.Req.InputTokens, Output: t.Req.OutputTokens, Content: p.content.of(t), Owner: f}
		f.replica = p.router.Pick(t.Req)
		if err := p.engines[f.replica].Fits(&f.job); err != nil {
			p.refused(f, err)
			continue
		}
		p.engines[f.replica].Add(&f.job, p.now)
	}
}

// refused ends a request at once, as a server does that answers 400.
func (p *player) refused(f *flight, why error) {
	p.report(f, Request{Sent: p.now, Failure: why.Error()})
	p.schedule.Complete(&f.ticket, p.now, nil)
}

// ended reports a request whose last token has come.
func (p *player) ended(job *engine.Job) {
	f := job.Owner.(*flight)
	r := Request{Sent: job.Arrived, Entered: job.Entered, Scheduled: job.Scheduled, First: job.First, Last: job.Last, Cached: job.Cached,
		Preemptions: job.Preemptions, Recomputed: job.Recomputed, EngineS: job.EngineS}
	if p.settings.KeepsTokens {
		p.tokens = p.engines[p.engine].TokenTimes(p.tokens[:0], job)
		r.Tokens = p.tokens
	}
	p.report(f, r)
	p.schedule.Complete(&f.ticket, job.Last, p.content.answer(&f.ticket))
}

func (p *player) report(f *flight, r Request) {
	r.Request, r.Held, r.Replica = f.ticket.Req, f.ticket.Held, f.replica
	r.Due = f.ticket.Due
	if err := p.over(&r); err != nil {
		p.err = errors.Join(p.err, err)
	}
}

// sample reports the whole seconds that have passed before an instant.
func (p *player) sample(until time.Duration) {
	if p.settings.Sample == nil {
		return
	}
	for ; p.second < until; p.second += time.Second {
		p.sampleAll(p.second)
	}
}

func (p *player) sampleEnd() {
	if p.settings.Sample != nil {
		p.sampleAll(p.now)
	}
}

func (p *player) sampleAll(at time.Duration) {
	for i, engine := range p.engines {
		p.settings.Sample(at, i, engine.Counts(at))
	}
}
