//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// A latency without a percentile or a unit in its name says nothing that could be compared; the load may be a parameter.
func TestTrialsSayRateAndLatencyByName(t *testing.T) {
	w := open(t)
	path := filepath.Join(t.TempDir(), "load.json")
	must.Do(t, os.WriteFile(path, []byte(`[
{"number": 0, "value": 1, "params": {"request_rate": 4, "max_num_seqs": 64}, "state": "COMPLETE",
 "user_attrs": {"qps": 3.9, "tpot_p90_s": 0.02, "median_ttft_ms": 150, "p99_itl": 0.5, "ttft_ms": 7, "throughput": 900, "completed": 95, "failed": 5, "total_output_tokens": 9500}},
{"number": 1, "value": 2, "params": {"max_concurrency": 8}, "state": "COMPLETE", "user_attrs": {}}]`), 0o600))
	must.Get(ingest.Load(t.Context(), w, []string{path}, ingest.Options{}))(t)
	answers(t, w, "select name, quantity, statistic, value from staging.figures where quantity is not null order by name",
		"request_throughput requests_per_s value 3.9|total_output_tokens total_output_tokens value 9500.0|tpot tpot_s p90 0.02|ttft ttft_s p50 0.15")
	answers(t, w, "select load, coalesce(request_rate_per_s, max_concurrency)::bigint, requests, failed from staging.points order by point",
		"open 4 100 5|closed 8  ")
}
