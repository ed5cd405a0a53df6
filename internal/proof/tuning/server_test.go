//go:build duckdb_arrow && coverage

package tuning

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/analysis/tune"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

const space = `schema: tidemark.tune/1
name: study
traffic: t
slo: s.yaml
deployment: {gpu: H100, model: llama-3.1-70b, quantization: fp8, tensor_parallel_size: 2}
space:
  max_num_seqs: [32, 64, 128, 256, 512]
  max_num_batched_tokens: [1024, 2048, 4096, 8192]
  gpu_memory_utilization: [0.85, 0.90, 0.95]
  tensor_parallel_size: [2, 4]
  enable_prefix_caching: [true, false]
budget: {load: 60m, starts: 12}
`

const (
	windowLength  = 2 * time.Minute // of the traffic, and of each load of the peers
	startMinutes  = 3.0             // until a server serves
	modelRequests = 5000            // played at each point of a model's curve, a sixth of what the verbs play: the study makes hundreds of searches
)

// catalogue is what the model says of each candidate; it is the same for every seed.
type catalogue struct {
	file       tune.File
	candidates []tune.Candidate // the baseline first, then the 240 combinations
	modelled   []analysis.Modelled
	usdPerHour []float64
	bands      map[int]float64 // by GPUs: how far servers may be from the model
}

func newCatalogue(t *testing.T) *catalogue {
	t.Helper()
	file := must.Get(tune.Parse([]byte(space)))(t)
	c := &catalogue{file: file, bands: map[int]float64{}}
	c.candidates = must.Get(file.Candidates())(t)
	w := warehousetest.Open(t)
	modeller, prices := analysis.NewModeller(w.DB()), analysis.NewPrices(w.DB(), analysis.SLO{})
	for i := range c.candidates {
		d := c.candidates[i].Deployment
		d.EngineVersion = "0.32.0"
		m, err := modeller.Of(t.Context(), d)
		if err != nil || m.Why != "" {
			t.Fatal(c.candidates[i].Label(), m.Why, err)
		}
		usd := must.Get(prices.PerHour(t.Context(), m.Deployment))(t)
		gpus := m.Deployment.GPUs()
		if _, isThere := c.bands[gpus]; !isThere { // the limits of the scheduler do not matter for it
			c.bands[gpus] = must.Get(analysis.ServerBand(t.Context(), w.DB(), m.Deployment))(t)
		}
		c.candidates[i].Deployment = m.Deployment
		c.modelled, c.usdPerHour = append(c.modelled, m), append(c.usdPerHour, usd)
	}
	return c
}

func (c *catalogue) gpus(i int) int { return c.modelled[i].Deployment.GPUs() }

// seed is a twist with its traffic.
type seed struct {
	*catalogue
	number uint64
	window []plan.Request
	twist  twist
	tokens float64            // of output, of a request
	truths map[string]float64 // by what a candidate's engine is
	lastLn float64            // the limit that was found last
}

// twist is how the servers differ from the model. Shares are in ln.
type twist struct {
	decode, prefill float64 // of what decoding and prompts cost
	parallel        float64 // of every step on four GPUs
	graph           int     // beyond so many sequences a step has no graph,
	eager           float64 // and lasts so much longer
	knob            string  // the model knows nothing of what this
	value           string  // value of it
	hidden          float64 // does to every step
}

func newSeed(c *catalogue, number uint64) *seed {
	rnd := rand.New(rand.NewPCG(number, 33))
	s := &seed{catalogue: c, number: number, truths: map[string]float64{}, lastLn: math.Log(2)}
	prompt, answer := 6.6+0.3*rnd.NormFloat64(), 5.2+0.3*rnd.NormFloat64()
	for at := rnd.ExpFloat64() / 3; at < windowLength.Seconds(); at += rnd.ExpFloat64() / 3 {
		r := plan.Request{Seq: int64(len(s.window)), Due: time.Duration(at * 1e9),
			InputTokens: 20 + int(math.Exp(prompt+0.8*rnd.NormFloat64())), OutputTokens: 2 + int(math.Exp(answer+0.6*rnd.NormFloat64()))}
		s.window = append(s.window, r)
		s.tokens += float64(r.OutputTokens)
	}
	s.tokens /= float64(len(s.window))
	s.twist = twist{decode: 0.15 * rnd.NormFloat64(), prefill: 0.2 * rnd.NormFloat64(), parallel: 0.08 + 0.1*rnd.NormFloat64(),
		graph: []int{48, 96, 160}[rnd.IntN(3)], eager: 0.05 + 0.25*rnd.Float64(), hidden: 0.05 + 0.15*rnd.Float64()}
	if rnd.IntN(2) == 0 {
		s.twist.hidden *= -1
	}
	knob := c.file.Knobs[rnd.IntN(len(c.file.Knobs))]
	s.twist.knob, s.twist.value = knob.Name, knob.Values[rnd.IntN(len(knob.Values))]
	return s
}

// objectives are the SLO.
func objectives() []capacity.Objective {
	return []capacity.Objective{{Metric: metric.TTFTFromDue, Quantile: 0.9, AtMost: 2}, {Metric: metric.TPOT, Quantile: 0.9, AtMost: 0.05}}
}

// question is what is asked about a candidate, on the model.
func (s *seed) question(i int) capacity.Question {
	m := s.modelled[i]
	q := capacity.Question{Window: s.window, Length: windowLength, Objectives: objectives(), Seed: s.number, MaxScale: capacity.MostScale, IsBrief: true}
	q.Twin = analysis.RehearsedTwin(m.Engine, m.Deployment)
	q.Twin.Engine.EnablePrefixCaching = s.candidates[i].IsCached
	return q.Coarse(modelRequests)
}

// steps are the true times of a candidate's steps.
func (s *seed) steps(i int) func(engine.Step) time.Duration {
	w, q := s.twist, s.question(i)
	every := 0.0
	if s.gpus(i) > 2 {
		every += w.parallel
	}
	if s.isTwisted(i) {
		every += w.hidden
	}
	usual, eager := q.Twin.StepTime(capacity.Shift{Decode: w.decode, Prefill: w.prefill, All: every}), q.Twin.StepTime(capacity.Shift{Decode: w.decode, Prefill: w.prefill, All: every + w.eager})
	return func(step engine.Step) time.Duration {
		if step.DecodeSequences > w.graph {
			return eager(step)
		}
		return usual(step)
	}
}

// server is a candidate as it is started: it tells its settings, and its steps are uneven.
func (s *seed) server(i int, start uint64) (*capacity.Question, *capacity.Rehearsed) {
	q := s.question(i)
	config := q.Twin.Engine
	config.StepTime = s.steps(i)
	return &q, &capacity.Rehearsed{Question: &q, Engine: config, Says: capacity.Settings{MaxNumBatchedTokens: config.MaxNumBatchedTokens, MaxNumSeqs: config.MaxNumSeqs, KVBlocks: config.KVBlocks, PrefixCaching: &config.EnablePrefixCaching},
		Noise: engine.Noise{StepSD: 0.05, StallEvery: 30 * time.Second, Stall: 150 * time.Millisecond, Seed: s.number<<32 + uint64(i)<<16 + start}}
}

// load is what one load of two minutes at a rate gives.
type load struct {
	perS   float64 // requests that were answered, while load was sent
	excess float64 // the largest share of requests that miss an objective, over the share that may; above 1 the SLO is missed
}

func (s *seed) load(ctx context.Context, i int, perS float64, number int) (load, error) {
	q, server := s.server(i, uint64(number))
	scale := perS / s.perS(1)
	requests, err := plan.Scaled(s.window, plan.ScaledBy(scale, false, s.number<<20+uint64(number)))
	if err != nil {
		return load{}, err
	}
	for n := range requests {
		requests[n].Seq = int64(n)
	}
	m, err := server.Measure(ctx, capacity.Probe{Number: number, Scale: scale, Length: windowLength, Requests: requests, Mode: "open"})
	if err != nil {
		return load{}, err
	}
	var got load
	misses := make([]float64, len(q.Objectives))
	for n, r := range m.Replies {
		if r.Last > 0 && r.Last <= windowLength {
			got.perS += 1 / windowLength.Seconds()
		}
		if r.First-r.Due > time.Duration(q.Objectives[0].AtMost*1e9) {
			misses[0]++
		}
		if (r.Last-r.First).Seconds()/float64(max(1, requests[n].OutputTokens-1)) > q.Objectives[1].AtMost {
			misses[1]++
		}
	}
	for j, o := range q.Objectives {
		got.excess = max(got.excess, misses[j]/float64(len(m.Replies))/(1-o.Quantile))
	}
	return got, nil
}

// trueRequests are played at each point of the curve of a candidate's truth.
const trueRequests = 1500

// truth is the rate that a candidate truly takes, from several draws of the traffic; the same draws for each candidate.
func (s *seed) truth(ctx context.Context, i int) (float64, error) {
	e := s.modelled[i].Engine
	key := fmt.Sprint(s.gpus(i), e.MaxNumSeqs, e.MaxNumBatchedTokens, e.KVBlocks, s.isTwisted(i)) // no prompt repeats another's: a cache holds nothing
	if rate, isThere := s.truths[key]; isThere {
		return rate, nil
	}
	q := s.question(i)
	q.Twin.StepTime = capacity.ShiftedSteps(s.steps(i))
	limits, err := capacity.NewLimits(ctx, q, trueRequests)
	if err != nil {
		return 0, err
	}
	at, err := limits.At(capacity.Shift{}, s.lastLn, false)
	if err != nil {
		return 0, err
	}
	if !math.IsInf(at.Ln, 0) {
		s.lastLn = at.Ln
	}
	s.truths[key] = s.perS(math.Exp(at.Ln))
	return s.truths[key], nil
}

// perS is the rate at a multiple of the window's traffic.
func (s *seed) perS(scale float64) float64 {
	return scale * float64(len(s.window)) / windowLength.Seconds()
}

// isTwisted says that a candidate has the value of which the model does not know what it does.
func (s *seed) isTwisted(i int) bool {
	return s.candidates[i].Settings()[s.twist.knob] == s.twist.value
}

// cost of a million output tokens at a rate, USD.
func (s *seed) cost(i int, perS float64) float64 {
	return s.usdPerHour[i] / (perS * s.tokens * 3600 / 1e6)
}

func (w twist) String() string {
	return fmt.Sprintf("decode %+.2f prefill %+.2f tp4 %+.2f beyond %d sequences %+.2f, %s %s %+.2f", w.decode, w.prefill, w.parallel, w.graph, w.eager, w.knob, w.value, w.hidden)
}
