package profile

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"tidemark/internal/heap"
	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// Options say how much of a profile is drawn.
type Options struct {
	Seed     uint64
	Duration time.Duration // sessions start before it; 0: as the profile says
	// Limit ends the plan after so many requests. Sessions start until it is
	// reached; all but the last are complete.
	Limit    int64
	RatePerS float64 // mean rate of sessions in place of the profile's; 0: the profile's
	// Lengths are those of an ingested source.
	Lengths func(source string) (Lengths, error)
}

// generator draws the sessions of one plan.
type generator struct {
	seed         uint64
	begin        time.Duration // time of day
	blockTokens  int
	classes      rankStream
	samplers     []*sampler
	arrivalTimes *arrivalTimes
	nextID       uint64
}

// Requests draws the profile, in order of due time. In mode sessions a due time
// is the earliest possible: that of the turn before plus the think time. The
// sequence can be drawn again and is then the same.
func (p *Profile) Requests(o Options) (iter.Seq2[plan.Request, error], error) {
	if _, err := p.generator(o); err != nil {
		return nil, err
	}
	end := p.ending(o)
	if end == (ending{}) {
		return nil, hint.Errorf("profile %s: it has no end", p.Name).Hint("give --duration or --limit, or write duration into it")
	}
	if p.atOnce() && end.sessions == 0 && end.requests == 0 {
		return nil, hint.Errorf("profile %s: all its sessions start at once, and no key says how many there are", p.Name).
			Hint("give --limit, or write sessions into it")
	}
	return func(yield func(plan.Request, error) bool) {
		m, err := p.generator(o)
		if err != nil {
			yield(plan.Request{}, err)
			return
		}
		err = m.play(p.ending(o), func(_ *session, _ turn, req plan.Request) bool { return yield(req, nil) })
		if err != nil {
			yield(plan.Request{}, p.wrong(err))
		}
	}, nil
}

func (p *Profile) atOnce() bool { return p.Arrivals.Process == "at_once" }

// MeanRate is sessions and requests per second; 0 when all start at once.
func (p *Profile) MeanRate(o Options) (sessionsPerS, requestsPerS float64, err error) {
	m, err := p.generator(o)
	if err != nil || p.atOnce() {
		return 0, 0, err
	}
	sessionsPerS = m.arrivalTimes.meanRate()
	turns, before := 0.0, 0.0
	for _, k := range m.samplers {
		turns += (k.until - before) * k.meanTurns()
		before = k.until
	}
	return sessionsPerS, sessionsPerS * turns, nil
}

// AtRate are options that draw a mean of so many requests per second. turns is how many requests a session has on average; 0 when all
// start at once, which no rate changes.
func (p *Profile) AtRate(o Options, requestsPerS float64) (at Options, turns float64, err error) {
	sessions, requests, err := p.MeanRate(o)
	if err != nil || requests == 0 {
		return o, 0, err
	}
	o.RatePerS = requestsPerS * sessions / requests
	return o, requests / sessions, nil
}

// meanTurns is the number of turns of a session, on average.
func (k *sampler) meanTurns() float64 {
	if k.listed > 0 {
		return float64(k.listed)
	}
	return k.turns.mean()
}

// ending is where a plan ends; 0 means no such end.
type ending struct {
	duration           time.Duration
	sessions, requests int64
}

func (p *Profile) ending(o Options) ending {
	return ending{duration: cmp.Or(o.Duration, p.Duration), sessions: p.Sessions, requests: o.Limit}
}

// play merges the turns of running sessions with the sessions that start.
// Running sessions wait in a heap, so a plan of any length takes the memory of
// the sessions that overlap.
func (m *generator) play(end ending, visit func(*session, turn, plan.Request) bool) error {
	running := heap.New(func(a, b *session) bool { return a.due < b.due || a.due == b.due && a.number < b.number })
	seq, requests := int64(0), int64(0)
	send := func(s *session) bool {
		req, now := m.request(s), s.turns[s.turn]
		req.Seq = seq
		seq++
		if s.turn++; s.turn < len(s.turns) {
			s.due += s.turns[s.turn].think
			running.Add(s)
		}
		return visit(s, now, req)
	}
	for number := int64(0); end.sessions == 0 || number < end.sessions; number++ {
		at := m.arrivalTimes.next()
		if at >= lastDue || end.duration > 0 && at >= end.duration || end.requests > 0 && requests >= end.requests {
			break
		}
		for running.Len() > 0 && running.First().due <= at {
			if !send(running.Take()) {
				return nil
			}
		}
		s := m.session(number, at)
		if tokens := s.turns[len(s.turns)-1].input; tokens > maxTokens {
			return fmt.Errorf("class %s: a prompt of %d tokens is longer than %d, the most that is drawn", s.class, tokens, maxTokens)
		}
		if left := end.requests - requests; end.requests > 0 && int64(len(s.turns)) > left {
			s.turns = s.turns[:left]
		}
		requests += int64(len(s.turns))
		if !send(s) {
			return nil
		}
	}
	for running.Len() > 0 {
		if !send(running.Take()) {
			return nil
		}
	}
	return nil
}

// generator prepares the whole profile for drawing.
func (p *Profile) generator(o Options) (*generator, error) {
	lengths := remembered(o.Lengths)
	m := &generator{seed: o.Seed, begin: p.Arrivals.begin(), blockTokens: p.BlockTokens, classes: newRanks(o.Seed, "classes"), nextID: 1}
	if p.Arrivals.Process == "" {
		return nil, hint.Errorf("profile %s: its classes are played one at a time only", p.Name).
			Hint("name one with --class: %s", p.classNames())
	}
	if o.RatePerS < 0 || math.IsInf(o.RatePerS, 0) || math.IsNaN(o.RatePerS) {
		return nil, errors.New("profile: rate must be above 0")
	}
	var err error
	if m.arrivalTimes, err = p.Arrivals.arrivalTimes(o.Seed, o.RatePerS, lengths); err != nil {
		return nil, p.wrong(err)
	}
	streams := map[string]*prefixPool{}
	until := 0.0
	for i := range p.Classes {
		k, err := p.newSampler(&p.Classes[i], o.Seed, lengths)
		if err != nil {
			return nil, p.wrong(err)
		}
		until += p.Classes[i].Share
		k.until = until
		m.samplers = append(m.samplers, k)
		if err := m.place(&p.Classes[i], k, streams); err != nil {
			return nil, p.wrong(err)
		}
	}
	return m, nil
}

func (p *Profile) wrong(err error) error { return fmt.Errorf("profile %s: %w", p.Name, err) }

func (p *Profile) classNames() string {
	names := ""
	for i, c := range p.Classes {
		if i > 0 {
			names += ", "
		}
		names += c.Name
	}
	return names
}

// place gives ids to the blocks of a class's shared prefixes. Classes that give
// the same name share them.
func (m *generator) place(c *Class, k *sampler, streams map[string]*prefixPool) error {
	if k.shared == nil {
		return nil
	}
	name := "class " + c.Name
	if c.Prefix.Shared.Name != "" {
		name = "name " + c.Prefix.Shared.Name
	}
	if other := streams[name]; other != nil {
		k.shared.first, k.shared.longest = other.first, other.longest
		if len(other.sums) != len(k.shared.sums) {
			return fmt.Errorf("class %s: count is %d, but another class has %d shared prefixes named %s",
				c.Name, len(k.shared.sums), len(other.sums), c.Prefix.Shared.Name)
		}
		return nil
	}
	k.shared.first = m.nextID
	streams[name] = k.shared
	m.nextID += uint64(len(k.shared.sums)) * prefixBlocks
	return nil
}
