//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
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
		cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), d))(t)
		run := fmt.Sprint("run", i)
		warehousetest.Put(t, w, []string{
			fmt.Sprintf(`insert into raw.runs values ('%s', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": %d,
				"quantization": %q, "engine_version": %q, "max_num_batched_tokens": %d}}')`,
				run, d.GPU, d.CatalogModel, max(d.TensorParallelSize, 1), d.Quantization, d.EngineVersion, d.MaxNumBatchedTokens),
			engine{cost: cost, perS: 4, input: 1500, output: 150}.serve(t, run, 400),
		}...)
		var median, low, high, floor float64
		must.Do(t, w.DB().QueryRow(`
select
    median(slowdown_ratio),
    quantile_cont(slowdown_ratio, 0.05),
    quantile_cont(slowdown_ratio, 0.95),
    min(floor_ratio)
from marts.tpot_gap
where run_id = ?`, run).Scan(&median, &low, &high, &floor))
		if median < 0.99 || median > 1.01 || low < 0.97 || high > 1.03 || floor < 1 {
			t.Errorf("%s: slowdown %.4f (5 %% %.4f, 95 %% %.4f), least floor ratio %.3f; want 1 within 1 %% (3 %%), above the floor",
				d.CatalogModel, median, low, high, floor)
		}
		var whole, tokens, busy float64
		must.Do(t, w.DB().QueryRow(`
select
    any_value(runs.slowdown_ratio),
    sum(seconds.decode_tokens) / any_value(runs.decode_tokens),
    sum(seconds.slowdown_ratio * seconds.decode_tokens) / sum(seconds.decode_tokens)
from marts.tpot_gap_runs as runs
join marts.tpot_gap_seconds as seconds on seconds.run_id = runs.run_id
where runs.run_id = ?`, run).Scan(&whole, &tokens, &busy))
		if math.Abs(whole-1) > 0.02 || math.Abs(tokens-1) > 1e-6 || math.Abs(busy-1) > 0.07 {
			t.Errorf("%s: the whole run is %.4f of its prediction, its seconds %.4f, and these have %.6f of its tokens; want 1",
				d.CatalogModel, whole, busy, tokens)
		}
	}
}

// engine is a server whose engine takes exactly the predicted time, API server and all.
type engine struct {
	cost     analysis.StepCost
	perS     float64 // requests that arrive
	input    float64 // mean tokens of a prompt
	output   float64 // of an answer
	isTiming bool    // keeps the instant of every token
}

// serve gives the insert of a run of n requests that arrive at random.
func (e engine) serve(t *testing.T, run string, n int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 5))
	requests := make([]plan.Request, n)
	at := 0.0
	for i := range requests {
		at += random.ExpFloat64() / e.perS
		requests[i] = plan.Request{Seq: int64(i), Due: time.Duration(at * 1e9)}
		requests[i].InputTokens, requests[i].OutputTokens = 1+int(random.ExpFloat64()*e.input), 1+int(random.ExpFloat64()*e.output)
	}
	return playedRows(t, run, rehearsal.Settings{Engine: e.cost.Engine(), IsCold: true, KeepsTokens: e.isTiming}, requests)
}
