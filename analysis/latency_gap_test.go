//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// An engine whose steps take exactly the predicted time brings its first tokens and its longest
// gaps when they are predicted: the marts find the queue of prompts and the steps
// that carried them from what a client sees.
func TestFirstTokensAndLongestGapsOfAnEngineThatIsAsPredicted(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.24.0", MaxNumBatchedTokens: 2048}
	cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), d))(t)
	warehousetest.Put(t, w, []string{
		fmt.Sprintf(`insert into raw.runs values ('a', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": 1,
			"engine_version": %q, "max_num_batched_tokens": %d}, "server": {"is_simulated": true}}')`, d.GPU, d.CatalogModel, d.EngineVersion, d.MaxNumBatchedTokens),
		engine{cost: cost, perS: 4, input: 1500, output: 150, isTiming: true}.serve(t, "a", 400),
	}...)
	var median, low, high, sum float64
	must.Do(t, w.DB().QueryRow(`
select
    median(slowdown_ratio),
    quantile_cont(slowdown_ratio, 0.05),
    quantile_cont(slowdown_ratio, 0.95),
    sum(ttft_s) / sum(predicted_ttft_s)
from marts.ttft_gap`).Scan(&median, &low, &high, &sum))
	t.Logf("TTFT over prediction: median %.3f, 5 %% %.3f, 95 %% %.3f, sum %.3f", median, low, high, sum)
	if median < 0.96 || median > 1.04 || low < 0.8 || high > 1.35 || sum < 0.92 || sum > 1.08 {
		t.Errorf("TTFT over prediction: median %.3f, 5 %% %.3f, 95 %% %.3f, sum %.3f; want 1", median, low, high, sum)
	}
	var ratio, longest float64
	must.Do(t, w.DB().QueryRow(`
select
    ratio,
    (select max(itl_s) from staging.chunks) / predicted_max_itl_s
from marts.itl_gap
where is_all`).Scan(&ratio, &longest))
	t.Logf("p99 gap over prediction %.3f, longest gap over prediction %.3f", ratio, longest)
	if ratio < 0.96 || ratio > 1.04 || longest < 0.8 || longest > 1.2 {
		t.Errorf("p99 gap over prediction %.3f, longest gap over prediction %.3f; want 1", ratio, longest)
	}
}

// A request that is alone on its server has the time to first token of a closed loop of one client, term by term and to the last digit.
func TestTheFirstTokenOfARequestAloneIsPredictedAlike(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "gpt-oss-120b", EngineVersion: "0.18.0", MaxNumBatchedTokens: 2048, TensorParallelSize: 1}
	const input, cached, output = 5000, 1000, 150
	warehousetest.Put(t, w, fmt.Sprintf(`insert into raw.runs values ('a', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": 1,
		"engine_version": %q, "max_num_batched_tokens": %d}}')`, d.GPU, d.CatalogModel, d.EngineVersion, d.MaxNumBatchedTokens), fmt.Sprintf(`
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, output_tokens_reported, cached_tokens_reported)
values ('a', 0, false, %[1]d, %[2]d, 0, 0, 0.3, 1.5, %[2]d, %[3]d)`, input, output, cached))
	predictions := must.Get(analysis.Predict(context.Background(), w.DB(), []analysis.Point{{
		Deployment: d, Load: analysis.Load{Clients: 1, InputTokens: input, OutputTokens: output, CachedTokens: cached},
	}}))(t)
	var sum float64
	var terms [4]float64
	must.Do(t, w.DB().QueryRow("select predicted_ttft_s, request_s, place_wait_s + prompt_wait_s, prompt_s, steps_s from marts.ttft_gap").
		Scan(&sum, &terms[0], &terms[1], &terms[2], &terms[3]))
	if p := predictions[0]; sum != p.TTFT || terms != p.TTFTTerms {
		t.Errorf("marts.ttft_gap has %v of %v, the prediction %v of %v", sum, terms, p.TTFT, p.TTFTTerms)
	}
	if terms[1] != 0 || terms[0] < 10e-3 || terms[2] < terms[3] {
		t.Errorf("terms %v: want no wait, and more work than steps", terms)
	}
}
