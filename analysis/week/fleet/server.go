package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/replay/plan"
)

// Server is one replica as the bandwidth model has it, and how many of them serve together.
type Server struct {
	Engine     engine.Config // with its step time
	Replicas   int           // that are paid for, and rehearsed together; 0: one
	Routing    string        // of requests to them, as rehearsal.Settings; empty: in turns, as replay sends
	Band       float64       // 90 % of measured times lie between predicted / (1 + Band) and predicted * (1 + Band)
	Objectives []capacity.Objective

	IsLow bool // only the low end of a capacity is asked for: faster servers, and those with slower prompts alone, are not played

	// How much longer or shorter all steps may be, in ln; 0: by the Band.
	Slower, Faster float64

	requests int // played at each point; 0: playedRequests
}

// Capacity is what one replica of a fleet handles of a shape: the largest rate at which every objective holds. Its interval is a 90 % one.
type Capacity struct {
	Replicas int     `json:"replicas"`   // of the fleet that was rehearsed
	Most     float64 `json:"most_per_s"` // that one replica keeps up with, whatever its users feel
	PerS     float64 `json:"per_s"`      // 0: no rate is small enough
	LowPerS  float64 `json:"low_per_s"`
	HighPerS float64 `json:"high_per_s"`
	Binding  string  `json:"binding,omitempty"` // the objective that ends it; empty: the server no longer keeps up

	// What the interval is made of, in ln, half of its width each. Slow is of a server whose steps are as much longer as they may be, Fast of one whose steps
	// are as much shorter, Tilt of one whose prompts alone take longer by the band. Seeds is by the seeds, Sample by the number of requests, Uneven by how
	// well it is known how unevenly they come.
	Slow   float64 `json:"slow"`
	Fast   float64 `json:"fast"`
	Tilt   float64 `json:"tilt"`
	Seeds  float64 `json:"seeds"`
	Sample float64 `json:"sample"`
	Uneven float64 `json:"uneven"`
	Gain   float64 `json:"gain"` // by how much more than steps are longer the capacity is smaller; at least 1

	Curve []Share `json:"curve,omitempty"` // of the shape that the page shows

	// Alone is what the objective comes to where each request has the fleet to itself, in the unit of its bound, where that misses it already; 0: it does not.
	Alone float64 `json:"alone,omitempty"`
}

// modelVersion changes when the same question would get another answer by this package or by the packages that it rehearses with. Constants
// of the bandwidth model need no change here: the key holds step times.
const modelVersion = "fleet/5"

// How much is played: at each point so many requests, more of them where the seeds alone make the interval this wide.
const (
	playedRequests = 6_000
	seedsPrecision = 0.08
	leastWindow    = 5 * time.Minute
	mostWindow     = time.Hour
	windowOfPlayed = 0.4   // of them are one window at the limit: several seeds are played
	twoSided       = 1.645 // standard errors of a 90 % interval
)

// key of a rehearsal: the shape, the server by its limits and by the times of a few steps, the objectives and the version of this program's
// model.
func (s *Server) key(shape *Shape) string {
	h := sha256.New()
	e := s.Engine
	fmt.Fprintln(h, modelVersion, shape.hash(), e.MaxNumBatchedTokens, e.MaxNumSeqs, e.KVBlocks, e.BlockSize, e.MaxModelLen, e.SlidingWindow, s.Band, s.Slower, s.Faster, s.played(), s.size(), s.Routing, s.IsLow)
	for _, step := range probes {
		fmt.Fprintln(h, e.StepTime(step))
	}
	text, err := json.Marshal(s.Objectives)
	if err != nil {
		panic(err) // numbers and texts
	}
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// size of the fleet that is rehearsed, where its replicas are not so fast that fewer are.
func (s *Server) size() int { return max(1, min(s.Replicas, mostTogether)) }

func (s *Server) played() int { return cmp.Or(s.requests, playedRequests) }

// probes are steps that every constant of the model shows in: few and many sequences, short and long contexts, prompts alone and between.
var probes = []engine.Step{
	{DecodeSequences: 1, ContextTokens: 100, WindowTokens: 100},
	{DecodeSequences: 7, ContextTokens: 7_000, WindowTokens: 7_000},
	{DecodeSequences: 64, ContextTokens: 64_000, WindowTokens: 60_000},
	{DecodeSequences: 250, ContextTokens: 1_000_000, WindowTokens: 250_000},
	{PrefillTokens: 512, PrefillChunks: 1, PrefillPairs: 512 * 256},
	{PrefillTokens: 2048, PrefillChunks: 3, PrefillPairs: 40e6},
	{DecodeSequences: 30, ContextTokens: 30_000, WindowTokens: 30_000, PrefillTokens: 2000, PrefillChunks: 2, PrefillPairs: 2e6},
}

// Rehearse finds what one replica takes of a shape, in the fleet that is paid for. Where that fleet holds the objectives at no rate, or a slow one
// does not, a larger one is rehearsed.
func (s *Server) Rehearse(ctx context.Context, shape Shape) (c Capacity, err error) {
	for n := s.size(); ; n *= 2 {
		r, err := s.rehearsal(ctx, shape, n, s.played())
		if err != nil {
			return c, err
		}
		if c, err = r.capacity(ctx); err != nil {
			return c, err
		}
		isEnough := c.PerS > 0 && c.Slow > impossible
		if isEnough || c.Alone > 0 || r.replicas < n || 2*n > mostTogether {
			return c, nil
		}
	}
}

// played is one shape on one fleet. Rates are of all its replicas together.
type played struct {
	server   *Server
	replicas int
	shape    *Shape
	limits   *capacity.Limits
	question capacity.Question
	length   time.Duration // of the window, at least
	denseS   float64       // rate of the window, per second, before any thinning
	windowS  float64       // that it came to
	mostPerS float64       // that the fleet keeps up with
}

// rehearsal of a shape on so many replicas, or on as many as are rehearsed together.
func (s *Server) rehearsal(ctx context.Context, shape Shape, replicas, requests int) (*played, error) {
	shape = shape.usable()
	if len(shape.Requests) == 0 {
		return nil, fmt.Errorf("fleet: no request has a prompt and an answer: nothing to rehearse")
	}
	engine := s.Engine
	engine.EnablePrefixCaching = false
	for i := range shape.Requests {
		engine.EnablePrefixCaching = engine.EnablePrefixCaching || len(shape.Requests[i].Blocks) > 0
	}
	most, stay, err := saturated(ctx, engine, &shape)
	if err != nil {
		return nil, err
	}
	replicas = oneFleet(replicas, most)
	most *= float64(replicas)
	// The window is made denser than the fleet handles, and thinned: clones of a thin one would come in clumps.
	shortest := float64(leastWindow) * min(1, float64(s.played())/playedRequests)
	if slow, _ := shape.unevenness(60); slow > 0 { // a quarter of an hour has few minutes
		shortest *= 3
	} else if fast, _ := shape.unevenness(10); fast > 0 {
		shortest *= 2
	}
	length := time.Duration(max(shortest, min(float64(mostWindow), 1e9*float64(s.played())*windowOfPlayed/most, 1e9*25*stay)))
	window, span := shape.window(densest*most, length)
	q := capacity.Question{
		Window: window, Length: span, Objectives: s.Objectives, Seed: 1, Precision: seedsPrecision,
		Twin: capacity.Twin{Engine: engine, StepTime: capacity.ShiftedSteps(s.Engine.StepTime), Replicas: replicas, Routing: s.Routing, AreSettingsCertain: true},
	}
	r := &played{server: s, replicas: replicas, shape: &shape, length: length, denseS: densest * most, windowS: float64(len(window)) / span.Seconds(), mostPerS: most}
	q.MinScale, q.MaxScale = least*most/r.windowS, min(densest*most/r.windowS, 1000)
	r.question = q
	if r.limits, err = capacity.NewLimits(ctx, q, requests); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return r, nil
}

// Traffic is played between these shares of what the fleet keeps up with.
const least, densest = 0.003, 1.25

// capacity at the speeds that make the interval.
func (r *played) capacity(ctx context.Context) (c Capacity, err error) {
	by := math.Log1p(r.server.Band)
	slower, faster := cmp.Or(r.server.Slower, by), cmp.Or(r.server.Faster, by)
	c.Replicas, c.Most = r.replicas, r.mostPerS/float64(r.replicas)
	centre, err := r.centre(r.server.requests == 0)
	if err != nil {
		return c, err
	}
	if centre.Objective >= 0 {
		c.Binding = r.server.Objectives[centre.Objective].String()
	}
	if math.IsInf(centre.Ln, -1) {
		if alone, isMissed := r.limits.Alone(centre.Objective); isMissed {
			c.Alone = alone
		}
		return c, nil
	}
	c.PerS = r.perReplica(centre)
	c.Seeds = twoSided * centre.Noise
	for _, other := range []struct {
		to    *float64
		shift capacity.Shift
		guess float64
	}{{&c.Slow, capacity.Shift{All: slower}, centre.Ln - 1.4*slower}, {&c.Fast, capacity.Shift{All: -faster}, centre.Ln + 1.25*faster}, {&c.Tilt, capacity.Shift{Prefill: by}, centre.Ln - by/2}} {
		if r.server.IsLow && other.to != &c.Slow {
			continue
		}
		got, err := r.at(other.shift, other.guess, false)
		if err != nil {
			return c, err
		}
		*other.to = max(got.Ln-centre.Ln, impossible)
	}
	if c.Uneven, err = r.uneven(ctx, centre); err != nil {
		return c, err
	}
	// A request with more work is like longer steps.
	c.Gain = max(1, -max(c.Slow, -3)/slower)
	c.Sample = twoSided * r.shape.sampling() * c.Gain
	half := c.own()
	c.LowPerS = c.PerS * math.Exp(-math.Hypot(min(c.Slow, 0), half))
	c.HighPerS = c.PerS * math.Exp(math.Hypot(max(c.Fast, 0), half))
	if c.Slow <= impossible {
		c.LowPerS = 0
	}
	return c, nil
}

// centre is the limit of the fleet as the model has it.
func (r *played) centre(deepen bool) (capacity.Limit, error) {
	return r.at(capacity.Shift{}, math.Log(0.85*r.mostPerS/r.windowS), deepen)
}

// perReplica is the rate of one replica at a limit, requests per second; 0: no rate is small enough.
func (r *played) perReplica(l capacity.Limit) float64 {
	return math.Exp(l.Ln) * r.windowS / float64(r.replicas)
}

// own is the half width that has nothing to do with how far the model is off.
func (c *Capacity) own() float64 { return math.Hypot(math.Hypot(c.Seeds, c.Sample), c.Uneven) }

// uneven is how much less the server takes where requests come more unevenly by the standard error of how unevenly they came. It matters only
// where arrivals are drawn anew, and where the rate may vary by a tenth more than is known.
func (r *played) uneven(ctx context.Context, centre capacity.Limit) (float64, error) {
	_, se := r.shape.unevenness(10)
	_, seOfMinutes := r.shape.unevenness(60)
	if se = math.Hypot(se, seOfMinutes); !r.shape.isThin(r.denseS) || math.IsInf(se, 0) || twoSided*se < 0.01 || centre.Objective < 0 {
		return 0, nil
	}
	more := *r
	q := r.question
	q.Window, q.Length = r.shape.redrawn(r.denseS, r.length, 1)
	more.windowS = float64(len(q.Window)) / q.Length.Seconds()
	var err error
	if more.limits, err = capacity.NewLimits(ctx, q, r.server.played()); err != nil {
		return 0, fmt.Errorf("fleet: %w", err)
	}
	got, err := more.at(capacity.Shift{}, centre.Ln, false)
	less := centre.Ln - got.Ln - math.Log(more.windowS/r.windowS)
	return twoSided * max(0, min(1, less)), err
}

// at is the limit at a speed; one that is above what the server keeps up with ends there, and no objective binds (-1).
func (r *played) at(shift capacity.Shift, guess float64, deepen bool) (capacity.Limit, error) {
	got, err := r.limits.At(shift, guess, deepen)
	if err != nil {
		return got, fmt.Errorf("fleet: %w", err)
	}
	slower := shift.All + shift.Prefill/2
	if most := math.Log(r.mostPerS/r.windowS) - slower; got.Ln > most {
		got = capacity.Limit{Ln: most, Objective: -1}
	}
	return got, nil
}

// sampling is the standard error of the mean work of a request, in ln: prompt and answer count alike.
func (s *Shape) sampling() float64 {
	var input, output float64
	n := float64(len(s.Requests))
	for i := range s.Requests {
		input, output = input+float64(s.Requests[i].InputTokens)/n, output+float64(s.Requests[i].OutputTokens)/n
	}
	squares := 0.0
	for i := range s.Requests {
		work := (float64(s.Requests[i].InputTokens)/input+float64(s.Requests[i].OutputTokens)/output)/2 - 1
		squares += work * work
	}
	return math.Sqrt(squares) / n
}

// saturated plays the shape as fast as the engine goes: how many requests a second it keeps up with, and how long one stays then, seconds.
// Beginning and end are left out, where the batch fills and empties.
func saturated(ctx context.Context, engine engine.Config, shape *Shape) (perS, stayS float64, err error) {
	slots := cmp.Or(engine.MaxNumSeqs, 256)
	n := max(2000, 8*slots)
	at := make([]time.Duration, 0, n)
	var stay time.Duration
	play := func(yield func(plan.Request, error) bool) {
		for i := range n {
			r := shape.Requests[i%len(shape.Requests)]
			r.Seq, r.Due, r.Session, r.Blocks = int64(i), 0, "", nil
			if !yield(r, nil) {
				return
			}
		}
	}
	err = rehearsal.Play(ctx, rehearsal.Settings{Engine: engine}, play, func(r *rehearsal.Request) error {
		if r.Failure == "" {
			at = append(at, r.Last)
			stay += r.Last - r.Scheduled
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("fleet: %w", err)
	case len(at) < n/2:
		return 0, 0, fmt.Errorf("fleet: %d of %d requests are longer than the server's context of %d tokens", n-len(at), n, engine.MaxModelLen)
	}
	from, until := len(at)/4, len(at)*3/4
	return float64(until-from) / (at[until] - at[from]).Seconds(), stay.Seconds() / float64(len(at)), nil
}

// Played is what a fleet makes of an hour, and what one of its replicas would take.
type Played struct {
	capacity.Tails         // at the hour's own rate
	PerS           float64 // of one replica within the objectives; 0: no rate is small enough
}

// Play plays a shape at its rate on servers whose steps are longer by so much, in ln.
func (s Server) Play(ctx context.Context, shape Shape, perS, slower float64) (p Played, err error) {
	fast := s.Engine.StepTime
	s.Engine.StepTime = func(step engine.Step) time.Duration { return time.Duration(math.Exp(slower) * float64(fast(step))) }
	r, err := s.rehearsal(ctx, shape, s.size(), s.played())
	if err != nil {
		return p, err
	}
	if p.Tails, err = capacity.TailsAt(ctx, r.question, perS*float64(r.replicas)/float64(max(1, s.Replicas))); err != nil {
		return p, fmt.Errorf("fleet: %w", err)
	}
	limit, err := r.centre(false)
	if err == nil && !math.IsInf(limit.Ln, -1) {
		p.PerS = r.perReplica(limit)
	}
	return p, err
}
