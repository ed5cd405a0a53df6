//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse/warehousetest"
)

// An engine whose steps take exactly the predicted time must come out as one: the
// mart, which sees only first and last tokens, finds the batch, the context and the
// prefill that each request shared.
func TestGapOfAnEngineThatIsAsPredicted(t *testing.T) {
	w := open(t)
	for i, d := range []deployment.Deployment{
		{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.24.0", MaxNumBatchedTokens: 2048},
		{GPU: "H200", CatalogModel: "llama-3.1-70b", TensorParallelSize: 2, Quantization: "fp8", EngineVersion: "0.24.0", MaxNumBatchedTokens: 8192},
		{GPU: "H100", CatalogModel: "gpt-oss-120b", TensorParallelSize: 2, EngineVersion: "0.12.0", MaxNumBatchedTokens: 8192},
	} {
		cost, err := analysis.LoadStepCost(context.Background(), w.DB(), d)
		if err != nil {
			t.Fatal(err)
		}
		run := fmt.Sprint("run", i)
		warehousetest.Put(t, w, []string{
			fmt.Sprintf(`insert into raw.runs values ('%s', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": %d,
				"quantization": %q, "engine_version": %q, "max_num_batched_tokens": %d}}')`,
				run, d.GPU, d.CatalogModel, max(d.TensorParallelSize, 1), d.Quantization, d.EngineVersion, d.MaxNumBatchedTokens),
			engine{cost: cost, budget: d.MaxNumBatchedTokens, perS: 4, input: 1500, output: 150}.serve(run, 400),
		}...)
		var median, low, high, floor float64
		err = w.DB().QueryRow(`
select
    median(slowdown_ratio),
    quantile_cont(slowdown_ratio, 0.05),
    quantile_cont(slowdown_ratio, 0.95),
    min(floor_ratio)
from marts.tpot_gap
where run_id = ?`, run).Scan(&median, &low, &high, &floor)
		if err != nil {
			t.Fatal(err)
		}
		if median < 0.99 || median > 1.01 || low < 0.97 || high > 1.03 || floor < 1 {
			t.Errorf("%s: slowdown %.4f (5 %% %.4f, 95 %% %.4f), least floor ratio %.3f; want 1 within 1 %% (3 %%), above the floor",
				d.CatalogModel, median, low, high, floor)
		}
		var whole, tokens, busy float64
		err = w.DB().QueryRow(`
select
    any_value(runs.slowdown_ratio),
    sum(seconds.decode_tokens) / any_value(runs.decode_tokens),
    sum(seconds.slowdown_ratio * seconds.decode_tokens) / sum(seconds.decode_tokens)
from marts.tpot_gap_runs as runs
join marts.tpot_gap_seconds as seconds on seconds.run_id = runs.run_id
where runs.run_id = ?`, run).Scan(&whole, &tokens, &busy)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(whole-1) > 0.02 || math.Abs(tokens-1) > 1e-6 || math.Abs(busy-1) > 0.05 {
			t.Errorf("%s: the whole run is %.4f of its prediction, its seconds %.4f, and these have %.6f of its tokens; want 1",
				d.CatalogModel, whole, busy, tokens)
		}
	}
}

// engine is continuous batching with chunked prefill, in as few lines as it takes.
type engine struct {
	cost     analysis.StepCost
	budget   int
	perS     float64 // requests that arrive
	input    float64 // mean tokens of a prompt
	output   float64 // of an answer
	isTiming bool    // keeps the instant of every token
}

type served struct {
	input, output, computed, generated int
	arrival, first, last               float64
	offsets                            []string // microseconds since the arrival
}

// serve gives the insert of a run of n requests that arrive at random.
func (e engine) serve(run string, n int) string {
	random := rand.New(rand.NewPCG(3, 5))
	all := make([]*served, n)
	at := 0.0
	for i := range all {
		at += random.ExpFloat64() / e.perS
		all[i] = &served{input: 1 + int(random.ExpFloat64()*e.input), output: 1 + int(random.ExpFloat64()*e.output), arrival: at}
	}
	for now, queue, arrived, live := 0.0, []*served(nil), 0, n; live > 0; {
		for arrived < n && all[arrived].arrival <= now {
			queue = append(queue, all[arrived])
			arrived++
		}
		if len(queue) == 0 {
			now = all[arrived].arrival
			continue
		}
		now += e.step(queue)
		rest := queue[:0]
		for _, r := range queue {
			if r.computed < r.input {
				rest = append(rest, r)
				continue
			}
			if r.generated++; r.generated == 1 {
				r.first = now
			}
			if e.isTiming {
				r.offsets = append(r.offsets, strconv.Itoa(int(1e6*(now-r.arrival))))
			}
			if r.generated < r.output {
				rest = append(rest, r)
				continue
			}
			r.last = now
			live--
		}
		queue = rest
	}
	var rows []string
	for i, r := range all {
		rows = append(rows, fmt.Sprintf("('%s', %d, false, %d, %d, %[5]v, %[5]v, %v, %v, %[7]v, %[4]d, [%[8]s])",
			run, i, r.input, r.output, r.arrival, r.first, r.last, strings.Join(r.offsets, ",")))
	}
	return `insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s,
		first_token_s, last_token_s, done_s, output_tokens_reported, chunk_offsets_us) values ` + strings.Join(rows, ",\n")
}

// step computes what the budget allows and gives its time.
func (e engine) step(queue []*served) float64 {
	decode, prefill, chunks := 0, 0, 0
	var contextTokens, windowTokens int64
	pairs := 0.0
	for _, r := range queue {
		if r.computed == r.input {
			decode++
			contextTokens += int64(r.input + r.generated)
			windowTokens += int64(min(r.input+r.generated, max(e.cost.SlidingWindow, 1)))
		}
	}
	for _, r := range queue {
		if s := min(r.input-r.computed, e.budget-decode-prefill); s > 0 {
			pairs += float64(s) * (float64(r.computed) + float64(s)/2)
			r.computed += s
			prefill += s
			chunks++
		}
	}
	return e.cost.Seconds(decode, contextTokens, windowTokens, prefill, chunks, pairs)
}
