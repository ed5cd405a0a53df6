//go:build duckdb_arrow

package ingest_test

import (
	"path/filepath"
	"testing"

	"tidemark/ingest"
)

// Shares of goodput are of what succeeded, 12 of 16 here though 20 were sent; the two
// generations of reports count a request without tokens' times differently.
func TestInferencePerfGoodputInTheMarts(t *testing.T) {
	w := open(t)
	for _, stage := range []string{"stage_0", "stage_1"} {
		load(t, w, filepath.Join("..", "fixtures", "tools", "inference-perf-goodput", stage+"_lifecycle_metrics.json"), ingest.Options{})
	}
	answers(t, w, `select label, quantity, definition_id, round(value, 4) as value from staging.figures join raw.points using (source_id, point)
		where quantity in ('accepted_ratio', 'goodput_per_s', 'good_tokens_per_s', 'total_input_tokens') order by label, quantity`, "stage_0 accepted_ratio met_all_slos_of_succeeded 0.75|stage_0 good_tokens_per_s met_all_slos_over_run 144.0|"+
		"stage_0 goodput_per_s met_all_slos_over_run 0.96|stage_0 total_input_tokens counted_by_server_else_client 1600.0|"+
		"stage_1 accepted_ratio met_all_slos_of_succeeded_unmeasured_met 0.9|stage_1 good_tokens_per_s met_all_slos_over_run_unmeasured_met 135.0")
	answers(t, w, "select label, mean_ttft_s, request_rate_per_s, completed from marts.points order by label", "stage_0 0.5 2.0 16|stage_1 0.4 2.0 10")
}
