package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
)

// StepCost is the step macros (queries/macros/step.sql) of one deployment, evaluated once, so that a simulator can ask for millions of
// steps without a database. Terms that depend on the tokens of a step by a curve are kept at many points; terms that are
// proportional to something are kept as its factor. Seconds is safe for concurrent use. A test compares it with the macros.
type StepCost struct {
	Deployment       deployment.Deployment // with the catalogue's names and the defaults filled in
	SlidingWindow    int                   // tokens; 0: none
	KVCapacityTokens int64                 // tokens whose KV cache fits in the memory, of all replicas

	fewExpertsS []float64 // seconds of the experts with 1, 2, ... tokens in all, fewer than there are replicas

	replicas int // of everything except the experts: they step together, each with its share of the step

	tokens     []float64 // of the step, rising; the first are 0, 1, 2, ..., so that small batches are exact
	expertsS   []float64 // seconds of the experts at each of them
	allreduceS []float64

	weightsS                  float64 // streaming all weights except the experts'
	decodeS, prefillS, chunkS float64 // arithmetic of a decoded token, of a prompt token, and of the output head once per prompt chunk
	contextS, windowS         float64 // reading the KV cache of one token, in layers without and with a window
	fixedS, sequenceS         float64 // layers and host of a step; host of each sequence
	draftS                    float64 // of a token that is guessed ahead
	pairS, windowedPairS      float64 // prefill attention of one query-key pair, in layers without and with a window
	roofHardness              float64 // p of the soft roofline, see roof
	mixedPromptRatio          float64 // a prompt's arithmetic beside others that decode, over the same alone
	promptS                   float64 // of each prompt in a step
	submitS, launchS          float64 // host time that the GPU's work hides: a step takes no less, one of more than graphTokens no less than launchS
	graphTokens               int

	frontend engine.Frontend
}

// Every number of tokens up to denseTokens is kept: small batches are the most frequent, and experts and all-reduces bend there. Beyond,
// points lie 2 % apart, up to lastTokens, which is more than any step has. A line between two points is exact to about 0.01 %, because
// the curves bend only at powers of two.
const (
	denseTokens = 128
	lastTokens  = 1 << 18
)

// grid lists the numbers of tokens at which the curves are kept: about 500, so that loading them takes one short query.
func grid() []float64 {
	var tokens []float64
	for n := 0; n <= denseTokens; n++ {
		tokens = append(tokens, float64(n))
	}
	for n := float64(denseTokens); n < lastTokens; {
		n = math.Ceil(n * 1.02)
		tokens = append(tokens, n)
	}
	return tokens
}

// leastKVTokens is the KV cache of one request of a usual length, prompt and answer. An engine with less would start and then serve no request.
const leastKVTokens = 2048

// ErrDoesNotFit marks a deployment whose memory does not take the model, or leaves no room for a request.
var ErrDoesNotFit = errors.New("does not fit")

// LoadStepCost evaluates the step macros for a deployment, in three queries: it is resolved, then come the factors, then the curves. ErrDoesNotFit is an error, because a
// simulator with such a deployment would start and then serve nothing; the Deployment of the cost is there also then.
func LoadStepCost(ctx context.Context, db *sql.DB, d deployment.Deployment) (StepCost, error) {
	return loadStepCost(ctx, db, d, nil)
}

// loadStepCost is LoadStepCost with constants that come before those of the warehouse; nil: none does.
func loadStepCost(ctx context.Context, db *sql.DB, d deployment.Deployment, constants map[string]float64) (StepCost, error) {
	resolved, made, err := deployWith(ctx, db, d, constants)
	if err != nil {
		return StepCost{}, err
	}
	return stepCostOf(ctx, db, resolved, made)
}

// stepCostOf is LoadStepCost of a deployment that is resolved.
func stepCostOf(ctx context.Context, db *sql.DB, d deployment.Deployment, made deploymentRow) (StepCost, error) {
	cost := StepCost{Deployment: d, tokens: grid(), replicas: max(d.DataParallelSize, 1)}
	if err := cost.loadFactors(ctx, db, made); err != nil {
		return cost, fmt.Errorf("step cost: %w", err)
	}
	if cost.KVCapacityTokens <= 0 {
		return cost, hint.Errorf("%s does not fit in the memory of %d x %s", d.ModelName(), max(d.TensorParallelSize, 1), d.GPU).
			Hint("take more GPUs, a larger one, or a smaller weight format").Mark(ErrDoesNotFit)
	}
	if cost.KVCapacityTokens < leastKVTokens {
		return cost, hint.Errorf("%s on %d x %s leaves room for the KV cache of %d tokens, less than one request of %d",
			d.ModelName(), max(d.TensorParallelSize, 1), d.GPU, cost.KVCapacityTokens, leastKVTokens).Hint("take more GPUs, a larger one, or a smaller weight or KV cache format").Mark(ErrDoesNotFit)
	}
	cost.KVCapacityTokens *= int64(cost.replicas)
	if err := cost.loadGrid(ctx, db, made); err != nil {
		return cost, fmt.Errorf("step cost: %w", err)
	}
	return cost, nil
}

// loadFactors asks the macros for one unit of each term that is proportional to something, and for the host time of one sequence as a
// difference of two. Prefill attention is split into layers without and with a sliding window by asking once with no tokens: then only the
// layers without a window count the pair. For a model without windows all of it belongs to the first kind.
func (c *StepCost) loadFactors(ctx context.Context, db *sql.DB, made deploymentRow) error {
	var f [7]float64 // of the frontend
	err := askRow(ctx, db, `
select
    coalesce(d.window_tokens, 0),
    macros.kv_capacity_tokens(d)::bigint,
    macros.weights_s(d, 1),
    macros.multiply_s(d, 1, 0, 0),
    macros.multiply_s(d, 0, 1, 0),
    macros.multiply_s(d, 0, 0, 1),
    macros.kv_s(d, 1, 0),
    macros.kv_s(d, 0, 1),
    macros.layers_s(d) + macros.host_s(d, 0),
    macros.host_s(d, 1) - macros.host_s(d, 0) + macros.state_s(d, 1),
    macros.prefill_attention_s(d, 0, 1),
    macros.prefill_attention_s(d, 1, 1) - macros.prefill_attention_s(d, 0, 1),
    d.roof_hardness,
    d.mixed_prompt_ratio,
    d.chunk_s,
    d.submit_s,
    d.launch_s,
    macros.graph_tokens(d),
    d.request_s - d.admission_s - d.send_s - d.send_token_s,
    d.request_token_s - d.admission_token_s + greatest(0e0, d.prompt_ratio - 1) * macros.multiply_s(d, 0, 1, 0),
    d.admission_s,
    d.admission_token_s,
    d.send_s,
    d.send_token_s,
    d.send_crowd_s,
    macros.draft_s(d)`+made.from(), made.row).Scan(
		&c.SlidingWindow, &c.KVCapacityTokens,
		&c.weightsS, &c.decodeS, &c.prefillS, &c.chunkS, &c.contextS, &c.windowS, &c.fixedS, &c.sequenceS,
		&c.pairS, &c.windowedPairS, &c.roofHardness, &c.mixedPromptRatio, &c.promptS, &c.submitS, &c.launchS, &c.graphTokens,
		&f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6], &c.draftS,
	)
	at := func(i int) time.Duration { return time.Duration(max(f[i], 0) * float64(time.Second)) }
	c.frontend = engine.Frontend{Way: at(0), WayToken: at(1), Admission: at(2), AdmissionToken: at(3), Send: at(4), SendToken: at(5), SendCrowd: at(6)}
	if c.SlidingWindow == 0 {
		c.pairS, c.windowedPairS = c.pairS+c.windowedPairS, 0
	}
	return err
}

// loadGrid evaluates the curves of the experts and of the all-reduces at every point of the grid, in one query.
func (c *StepCost) loadGrid(ctx context.Context, db *sql.DB, made deploymentRow) error {
	var points []string
	for n := 1; n < c.replicas; n++ { // fewer tokens than replicas: less than one a replica
		points = append(points, fmt.Sprintf("%d / %d", n, c.replicas))
	}
	for _, n := range c.tokens {
		points = append(points, fmt.Sprintf("%.0f", n))
	}
	table, err := ask(ctx, db, `
select
    macros.experts_s(d, points.tokens),
    macros.allreduce_s(d, points.tokens)`+made.from()+`
cross join (select unnest([`+strings.Join(points, ", ")+`]) as tokens, unnest(range(`+fmt.Sprint(len(points))+`)) as seq) as points
order by points.seq`, made.row)
	if err != nil {
		return err
	}
	for i, row := range table.Rows {
		if i < c.replicas-1 {
			c.fewExpertsS = append(c.fewExpertsS, row[0].(float64))
			continue
		}
		c.expertsS = append(c.expertsS, row[0].(float64))
		c.allreduceS = append(c.allreduceS, row[1].(float64))
	}
	return nil
}

// Seconds is the predicted time of one engine step.
//
//	decode          sequences that decode one token each
//	contextTokens   sum of their contexts
//	windowTokens    the same with each context cut at SlidingWindow; not read without one
//	prefillTokens   uncached prompt tokens computed in the step
//	prefillChunks   sequences that those belong to
//	prefillPairs    query-key pairs of the prefill: sum of s*p + s*s/2 for s new tokens after p earlier ones
//
// All are of the whole deployment. Replicas behind one address (data parallelism) share them evenly and step together, as vLLM's do if experts
// are spread over them: the step then takes as long as one replica's share. Uneven shares would take longer; the model has no term for that.
func (c StepCost) Seconds(decode int, contextTokens, windowTokens int64, prefillTokens, prefillChunks int, prefillPairs float64) float64 {
	// Engines with a sequence, and those with a prompt, share these. In the experts the tokens of all meet.
	busy := func(n float64, parts int) float64 { return n / float64(max(1, min(c.replicas, parts))) }
	ofOne := func(n float64) float64 { return busy(n, decode) }
	sequences, prompts := ofOne(float64(decode)), busy(float64(prefillTokens), prefillChunks)
	experts, _ := c.at(float64(decode+prefillTokens) / float64(c.replicas))
	if n := decode + prefillTokens; n > 0 && n < c.replicas {
		experts = c.fewExpertsS[n-1]
	}
	_, allreduce := c.at(sequences + prompts)
	perPrompt := busy(float64(prefillChunks), prefillChunks)
	multiply := sequences*c.decodeS + prompts*c.prefillS*(1+(c.mixedPromptRatio-1)*min(1, sequences)) + perPrompt*c.chunkS
	pairs := busy(prefillPairs, prefillChunks)
	windowedPairs := min(pairs, prompts*float64(c.SlidingWindow))
	if beside := min(1, sequences); beside > 0 && prefillTokens > 0 && len(c.expertsS) > 0 {
		without, _ := c.at(float64(decode) / float64(c.replicas))
		experts += (c.mixedPromptRatio - 1) * beside * (experts - without)
	}
	gpu := c.roof(c.weightsS, multiply) + experts + allreduce +
		ofOne(float64(contextTokens))*c.contextS + ofOne(float64(windowTokens))*c.windowS +
		c.fixedS + sequences*c.sequenceS +
		pairs*c.pairS + windowedPairs*c.windowedPairS + perPrompt*c.promptS
	if sequences+prompts > float64(c.graphTokens) {
		return max(gpu, c.launchS)
	}
	return max(gpu, c.submitS)
}

// TPOT is the time per token, seconds, while so many requests decode with contextTokens each, in a mix of requests of inputTokens, of which
// cachedTokens are not computed, that answer with outputTokens. With each step as many requests begin as end, decode / outputTokens, and all
// wait for their prompts.
func (c StepCost) TPOT(decode int, contextTokens, inputTokens, cachedTokens, outputTokens float64) float64 {
	inWindow := contextTokens
	if c.SlidingWindow > 0 {
		inWindow = min(contextTokens, float64(c.SlidingWindow))
	}
	all, windowed := int64(float64(decode)*contextTokens), int64(float64(decode)*inWindow)
	step := c.Seconds(decode, all, windowed, 0, 0, 0)
	computed := inputTokens - cachedTokens
	if computed < 1 || outputTokens < 1 {
		return step
	}
	prefill := c.Seconds(decode, all, windowed, int(computed), 1, computed*(inputTokens-computed/2)) - step
	return step + float64(decode)/outputTokens*prefill
}

// StepTime is Seconds for an engine model, with every step so many times as long.
func (c StepCost) StepTime(factor float64) func(engine.Step) time.Duration {
	return func(s engine.Step) time.Duration {
		seconds := c.Seconds(s.DecodeSequences*(1+s.Drafts), s.ContextTokens, s.WindowTokens, s.PrefillTokens, s.PrefillChunks, s.PrefillPairs)
		if s.Drafts > 0 { // as in macros.drafted_s: guessed before the step, and none of them is scheduled
			sequences := float64(s.DecodeSequences) / float64(max(1, min(c.replicas, s.DecodeSequences)))
			seconds += float64(s.Drafts) * (c.draftS - sequences*c.sequenceS)
		}
		return time.Duration(factor * seconds * float64(time.Second))
	}
}

// Engine is the engine that simulate serves and rehearsals play. Replicas behind one address are one engine with all their room: they share
// every step.
func (c StepCost) Engine() engine.Config {
	d, front := c.Deployment, c.frontend
	front.Servers = c.replicas // vLLM's default: one for each
	if d.APIServerCount > 0 {
		front.Servers = d.APIServerCount
	}
	return engine.Config{
		MaxNumSeqs: d.MaxNumSeqs * c.replicas, MaxNumBatchedTokens: d.MaxNumBatchedTokens * c.replicas,
		BlockSize: 16, SlidingWindow: c.SlidingWindow, KVBlocks: int(c.KVCapacityTokens / 16), EnablePrefixCaching: true, StepTime: c.StepTime(1),
		IsAsync: c.submitS > 0, Submit: time.Duration(c.submitS * float64(time.Second)), Frontend: front,
	}
}

// alone are the settings of one server, whose requests are as long as its memory takes.
func (c StepCost) alone() rehearsal.Settings {
	s := rehearsal.Settings{Engine: c.Engine()}
	s.Engine.MaxModelLen = s.Engine.KVBlocks * s.Engine.BlockSize
	return s
}

// roof is macros.roof_s: the time for streaming weights and for arithmetic under a soft roofline, (w^p + c^p)^(1/p).
// Hardness p = 1 is their sum, which fits measurements best; infinity is their maximum, the textbook roofline.
func (c StepCost) roof(weights, multiply float64) float64 {
	if c.roofHardness == 1 {
		return weights + multiply
	}
	return math.Pow(math.Pow(weights, c.roofHardness)+math.Pow(multiply, c.roofHardness), 1/c.roofHardness)
}

// at interpolates both curves linearly between two points, and extrapolates beyond the last. Up to denseTokens the place follows from the
// number itself; beyond, it is searched for.
func (c StepCost) at(tokens float64) (experts, allreduce float64) {
	i := int(tokens)
	if i > denseTokens {
		i = sort.SearchFloat64s(c.tokens, tokens) - 1
	}
	i = max(0, min(i, len(c.tokens)-2))
	share := (tokens - c.tokens[i]) / (c.tokens[i+1] - c.tokens[i])
	between := func(values []float64) float64 { return values[i] + share*(values[i+1]-values[i]) }
	return between(c.expertsS), between(c.allreduceS)
}
