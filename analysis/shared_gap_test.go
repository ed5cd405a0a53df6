//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Of an engine whose steps take exactly the predicted time one request in five is
// ours: by our own events it is too slow, by what its metrics say it is as predicted.
func TestGapOnASharedServer(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.24.0", MaxNumBatchedTokens: 2048}
	cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), d))(t)
	warehousetest.Put(t, w, []string{
		fmt.Sprintf(`insert into raw.runs values ('a', 1, '{"environment": {"gpu": %q, "catalog_model": %q, "tensor_parallel_size": 1,
			"engine_version": %q, "max_num_batched_tokens": %d}, "effective": {"kv_cache_tokens": "1000000"}}')`,
			d.GPU, d.CatalogModel, d.EngineVersion, d.MaxNumBatchedTokens),
		engine{cost: cost, perS: 5, input: 1500, output: 150}.serve(t, "a", 500),
		// What a server with these requests says of itself each second.
		`insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
with looks as (
    select
        at_s,
        count(*) filter (where sent_s <= at_s and last_token_s > at_s) as running,
        sum(input_tokens + output_tokens * (at_s - first_token_s) / (last_token_s - first_token_s))
            filter (where first_token_s <= at_s and last_token_s > at_s) as context_tokens,
        sum(input_tokens) filter (where first_token_s <= at_s) as prompt_tokens,
        count(*) filter (where last_token_s <= at_s) as finished
    from raw.requests
    cross join (select unnest(range(0, (select ceil(max(last_token_s))::bigint + 1 from raw.requests))) as at_s)
    group by at_s
)
select 'a', at_s, 'server', 'http://s/metrics', each.name, '', each.value
from (
    select at_s, unnest([
        {'name': 'vllm:num_requests_running', 'value': running::double},
        {'name': 'vllm:kv_cache_usage_perc', 'value': coalesce(context_tokens, 0) / 1e6},
        {'name': 'vllm:prompt_tokens_total', 'value': coalesce(prompt_tokens, 0)::double},
        {'name': 'vllm:request_success_total', 'value': finished::double}
    ]) as each
    from looks
)`,
		`delete from raw.requests where seq % 5 <> 0`,
	}...)
	var isShared bool
	var server, own float64
	must.Do(t, w.DB().QueryRow(`select is_shared, server_in_flight, own_in_flight from marts.shared_servers`).Scan(&isShared, &server, &own))
	var rows int
	var median, low, high float64
	must.Do(t, w.DB().QueryRow(`
select
    count(*),
    median(requests.tpot_s / shared.predicted_tpot_s),
    quantile_cont(requests.tpot_s / shared.predicted_tpot_s, 0.05),
    quantile_cont(requests.tpot_s / shared.predicted_tpot_s, 0.95)
from marts.tpot_gap_shared as shared
join staging.requests using (run_id, seq)`).Scan(&rows, &median, &low, &high))
	var alone float64
	must.Do(t, w.DB().QueryRow(`select median(slowdown_ratio) from marts.tpot_gap`).Scan(&alone))
	t.Logf("%.2f in flight, %.2f ours; over the prediction by the metrics: median %.3f, 5 %% %.3f, 95 %% %.3f; by our own events %.3f",
		server, own, median, low, high, alone)
	if !isShared || rows < 95 || median < 0.95 || median > 1.05 || low < 0.75 || high > 1.25 || alone < 1.1 {
		t.Errorf("shared %v, %d rows, over the prediction by the metrics: median %.3f, 5 %% %.3f, 95 %% %.3f, by our own events %.3f; want true, 100, 1, and more by our own",
			isShared, rows, median, low, high, alone)
	}
	verdict := must.Get(analysis.Judge(t.Context(), w.DB(), "a"))(t)
	want := fmt.Sprintf("the server was shared: %.2f of %.2f in flight were ours; judged by its metrics the median is ", own, server)
	if len(verdict.Notes) == 0 || !strings.HasPrefix(verdict.Notes[0], want) || !strings.Contains(verdict.FirstLine(), want) {
		t.Errorf("got notes %q, want one that begins %q", verdict.Notes, want)
	}
	diagnosed := must.Get(analysis.Diagnose(t.Context(), w.DB(), "a"))(t)
	if !slices.Equal(diagnosed[0].Notes, verdict.Notes) {
		t.Errorf("the diagnosis notes %q, the verdict %q", diagnosed[0].Notes, verdict.Notes)
	}
}
