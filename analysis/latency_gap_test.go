//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/warehouse/warehousetest"
)

// An engine whose steps take exactly the predicted time brings its first tokens and its longest
// gaps when they are predicted: the marts find the queue of prompts and the steps
// that carried them from what a client sees.
func TestFirstTokensAndLongestGapsOfAnEngineThatIsAsPredicted(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.24.0", MaxNumBatchedTokens: 2048}
	cost, err := analysis.LoadStepCost(context.Background(), w.DB(), d)
	if err != nil {
		t.Fatal(err)
	}
	warehousetest.Put(t, w, []string{
		fmt.Sprintf(`insert into raw.runs values ('a', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": 1,
			"engine_version": %q, "max_num_batched_tokens": %d}}')`, d.GPU, d.CatalogModel, d.EngineVersion, d.MaxNumBatchedTokens),
		engine{cost: cost, budget: d.MaxNumBatchedTokens, perS: 4, input: 1500, output: 150, isTiming: true}.serve("a", 400),
	}...)
	var median, low, high, sum float64
	err = w.DB().QueryRow(`
select
    median(slowdown_ratio),
    quantile_cont(slowdown_ratio, 0.05),
    quantile_cont(slowdown_ratio, 0.95),
    sum(ttft_s) / sum(predicted_ttft_s)
from marts.ttft_gap`).Scan(&median, &low, &high, &sum)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("TTFT over prediction: median %.3f, 5 %% %.3f, 95 %% %.3f, sum %.3f", median, low, high, sum)
	if median < 0.96 || median > 1.04 || low < 0.8 || high > 1.35 || sum < 0.92 || sum > 1.08 {
		t.Errorf("TTFT over prediction: median %.3f, 5 %% %.3f, 95 %% %.3f, sum %.3f; want 1", median, low, high, sum)
	}
	var ratio, longest float64
	err = w.DB().QueryRow(`
select
    ratio,
    (select max(itl_s) from staging.chunks) / predicted_max_itl_s
from marts.itl_gap
where is_all`).Scan(&ratio, &longest)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("p99 gap over prediction %.3f, longest gap over prediction %.3f", ratio, longest)
	if ratio < 0.96 || ratio > 1.04 || longest < 0.8 || longest > 1.2 {
		t.Errorf("p99 gap over prediction %.3f, longest gap over prediction %.3f; want 1", ratio, longest)
	}
}
