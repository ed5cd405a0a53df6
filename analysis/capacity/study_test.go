package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// studied is a server with a window, and a twin that is wrong about it.
type studied struct {
	name   string
	window func(testing.TB) []plan.Request
	length time.Duration
	mode   string
	slo    []Objective
	twin   steps
	real   steps
	engine engine.Config // of both
	// believed changes the twin's engine where its settings are wrong, and the server does not tell them.
	believed func(*engine.Config)
	replicas int
	isSlow   bool // ten times as long as others: long prompts with a prefix cache, or so few requests that many seeds are played
	routing  string
}

var uneven = engine.Noise{StepSD: 0.05, StallEvery: 30 * time.Second, Stall: 150 * time.Millisecond}

const tenMinutes = 10 * time.Minute

func ofAzure(name string, from time.Duration) func(testing.TB) []plan.Request {
	return func(t testing.TB) []plan.Request { return azure(t, name, from, tenMinutes) }
}

// latency is an SLO of a TTFT from due and a TPOT, both at one quantile, in seconds.
func latency(q, ttft, tpot float64) []Objective {
	return []Objective{{Metric: metric.TTFTFromDue, Quantile: q, AtMost: ttft}, {Metric: metric.TPOT, Quantile: q, AtMost: tpot}}
}

// servers are those of the study.
func servers() []studied {
	return []studied{
		{name: "Poisson, 8B", window: func(testing.TB) []plan.Request { return poisson(6, tenMinutes, 3) }, slo: latency(0.99, 1, 0.04),
			twin: llama8B, real: llama8B.off(1.3, 1.2, 1.25, 1), engine: engineOf(2048, 26000)},
		{name: "Azure conversation, 8B", window: ofAzure("conv", 20*time.Minute), slo: latency(0.99, 1, 0.05),
			twin: llama8B, real: llama8B.off(1.4, 1.4, 0.75, 1), engine: engineOf(2048, 26000)},
		{name: "Azure conversation, 70B, little KV", window: ofAzure("conv", 30*time.Minute), slo: latency(0.99, 5, 0.15),
			twin: llama70B, real: llama70B.off(0.75, 1.3, 1.3, 1), engine: engineOf(2048, 6000)},
		{name: "Azure code, 70B", window: ofAzure("code", 10*time.Minute), slo: latency(0.99, 8, 0.5),
			twin: llama70B, real: llama70B.off(1.25, 1, 1.3, 2), engine: engineOf(2048, 11000), isSlow: true},
		{name: "Azure code, 8B, p95", window: ofAzure("code", 30*time.Minute), slo: latency(0.95, 0.8, 0.06),
			twin: llama8B, real: llama8B.off(0.8, 1, 1.3, 1.5), engine: engineOf(4096, 26000)},
		{name: "Mooncake, prefix cache, 8B", window: func(t testing.TB) []plan.Request { return mooncake(t, 20*time.Minute, tenMinutes) }, slo: latency(0.95, 6, 0.15),
			twin: llama8B, real: llama8B.off(1.3, 1.2, 1.3, 1.3), engine: cached(largeBlocks(engineOf(8192, 5000))), isSlow: true},
		{name: "Azure conversation, 3 replicas", window: ofAzure("conv", 40*time.Minute), slo: latency(0.99, 1, 0.05),
			twin: llama8B, real: llama8B.off(1.3, 1.3, 1.3, 1), engine: engineOf(2048, 26000), replicas: 3, routing: "least-loaded"},
		{name: "sessions, prefix cache, 8B", window: func(testing.TB) []plan.Request { return conversations(1.2, tenMinutes, 5) }, mode: schedule.Sessions, slo: latency(0.95, 0.5, 0.03),
			twin: llama8B, real: llama8B.off(1.25, 1.3, 0.8, 1), engine: cached(engineOf(4096, 20000))},
	}
}

// largeBlocks are of 128 tokens: a long prompt is then some hundred blocks, and not thousands to look up.
func largeBlocks(c engine.Config) engine.Config {
	c.BlockSize = 128
	return c
}

func cached(c engine.Config) engine.Config {
	c.EnablePrefixCaching, c.MaxModelLen = true, 131072
	return c
}

// question with a seed of its own: another draw of sessions.
func (s studied) question(t testing.TB, seed uint64) *Question {
	q := Question{
		Window: s.window(t), Length: tenMinutes, Mode: s.mode, Objectives: s.slo, Seed: seed,
		Twin: Twin{Engine: s.engine, StepTime: ShiftedSteps(s.twin.time), Replicas: s.replicas, Routing: s.routing},
	}
	if s.length > 0 {
		q.Length = s.length
	}
	if s.believed != nil {
		s.believed(&q.Twin.Engine)
	}
	q = must.Get(q.settled())(t)
	return &q
}

// server of the study, as uneven as a real one.
func (s studied) server(q *Question, seed uint64) *Rehearsed {
	config := s.engine
	config.StepTime = s.real.time
	noise := uneven
	noise.Seed = seed
	r := &Rehearsed{Question: q, Engine: config, Noise: noise}
	if s.believed == nil {
		r.Says = Settings{config.MaxNumBatchedTokens, 256, config.KVBlocks, &config.EnablePrefixCaching}
	}
	return r
}

// truth is ln of the limit, from many seeds of the whole window on the server itself.
func (s studied) truth(t testing.TB, requests int) (ln float64, binding int) {
	q := s.question(t, 0x7245)
	q.Twin.Engine = s.engine
	q.Twin.StepTime = ShiftedSteps(s.real.time)
	c := newCurve(newTwin(t.Context(), q, Settings{}), newPlans(q), Shift{}, requests)
	c.noise = uneven
	ln = math.Inf(1)
	for j := range q.Objectives {
		if l := c.limit(j, 0, min(ln, 0)).lnScale; l < ln {
			ln, binding = l, j
		}
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	return ln, binding
}

// whole sends the whole window at a multiple and reads it.
func (s *Rehearsed) whole(t testing.TB, q *Question, number int, scale float64, from, length time.Duration) (reading, []plan.Request, []Reply) {
	requests := must.Get(newPlans(q).whole(scale, q.probeSeed(number)))(t)
	requests = piece(requests, from, length)
	m := must.Get(s.Measure(t.Context(), Probe{Number: number, Scale: scale, Length: length, Requests: requests, Mode: q.Mode, MaxConcurrency: q.concurrency(scale)}))(t)
	return q.read(requests, m.Replies, 0), requests, m.Replies
}

// bisect finds the limit by pass or fail of the whole window, as peers do: it doubles or halves until the limit is bracketed.
func bisect(t testing.TB, q *Question, s *Rehearsed, precision float64) (ln, low, high, minutes float64) {
	passes := func(n int, ln float64) bool {
		r, _, _ := s.whole(t, q, 1000+n, math.Exp(ln), 0, q.length(math.Exp(ln)))
		minutes += q.length(math.Exp(ln)).Minutes()
		for j, o := range q.Objectives {
			if _, excess := q.missed(r.tallies[j], o); excess > 0 {
				return false
			}
		}
		return true
	}
	p := newSearch(t.Context(), q)
	must.Do(t, p.predict())
	low, high = math.Inf(-1), math.Inf(1)
	for n, at := 0, p.predicted; ; n++ {
		if passes(n, at) {
			low = at
			at += math.Ln2
		} else {
			high = at
			at -= math.Ln2
		}
		if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
			at = (low + high) / 2
			if high-low <= 2*math.Log1p(precision) {
				return at, low, high, minutes
			}
		}
	}
}

// isotonic fits a rising share of misses to ten runs of two minutes around the predicted limit; its interval takes the requests for independent.
func isotonic(t testing.TB, q *Question, s *Rehearsed) (ln, low, high float64) {
	p := newSearch(t.Context(), q)
	must.Do(t, p.predict())
	var lns []float64
	var misses, n [][]float64 // by objective
	for range q.Objectives {
		misses, n = append(misses, nil), append(n, nil)
	}
	for i := range 10 {
		at := p.predicted + math.Log(0.5) + math.Log(3)*float64(i)/9
		scale := math.Exp(at)
		r, _, _ := s.whole(t, q, 2000+i, scale, golden(q.length(scale), usualLength, i), usualLength)
		lns = append(lns, at)
		for j, tally := range r.tallies {
			misses[j], n[j] = append(misses[j], float64(tally.misses)), append(n[j], float64(max(tally.n, 1)))
		}
	}
	crossing := func(draw func(misses, n float64) float64) float64 {
		least := math.Inf(1)
		for j, o := range q.Objectives {
			var shares []float64
			for i := range lns {
				shares = append(shares, draw(misses[j][i], n[j][i])/n[j][i])
			}
			least = min(least, crosses(lns, rising(shares, n[j]), o.allowed()))
		}
		return least
	}
	ln = crossing(func(misses, _ float64) float64 { return misses })
	rnd := rand.New(rand.NewPCG(q.Seed, 77))
	var drawn []float64
	for range 200 {
		drawn = append(drawn, crossing(func(misses, n float64) float64 {
			return max(0, math.Round(misses+math.Sqrt(misses*(1-misses/n))*rnd.NormFloat64()))
		}))
	}
	slices.Sort(drawn)
	return ln, drawn[10], drawn[189]
}

// rising pools neighbours that fall.
func rising(shares, weights []float64) []float64 {
	type pool struct{ sum, weight, n float64 }
	var pools []pool
	for i := range shares {
		pools = append(pools, pool{shares[i] * weights[i], weights[i], 1})
		for len(pools) > 1 {
			a, b := pools[len(pools)-2], pools[len(pools)-1]
			if a.sum/a.weight <= b.sum/b.weight {
				break
			}
			pools = append(pools[:len(pools)-2], pool{a.sum + b.sum, a.weight + b.weight, a.n + b.n})
		}
	}
	var fitted []float64
	for _, p := range pools {
		for range int(p.n) {
			fitted = append(fitted, p.sum/p.weight)
		}
	}
	return fitted
}

func crosses(x, y []float64, level float64) float64 {
	for i := range y {
		if y[i] > level {
			if i == 0 {
				return x[0]
			}
			return x[i-1] + (x[i]-x[i-1])*(level-y[i-1])/(y[i]-y[i-1])
		}
	}
	return x[len(x)-1]
}
