//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Trials have bench_serving's figures by its definitions; one that ran out of memory
// is there without a figure.
func TestSGLangAutoInTheMarts(t *testing.T) {
	path := filepath.Join("..", "fixtures", "tools", "sglang-auto", "results.jsonl")
	w := open(t)
	load(t, w, path, ingest.Options{MaxRejectedRatio: 0.5})
	answers(t, w, "select point, request_rate_per_s, mean_ttft_s, p99_tpot_s, tensor_parallel_size, ttft_definition, completed from marts.points order by point",
		"0 8.0 0.0995 0.022 2 sent_to_first_token 320|1 12.0 0.9  2 sent_to_first_token 310|2 8.0   1  ")
	answers(t, w, "select settings ->> '$.state', settings ->> '$.sla_passed' from raw.points order by point", "complete true|complete false|oom false")

	text := must.Get(os.ReadFile(path))(t)
	live := write(t, "live_results.jsonl", text)
	must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(live), "results.jsonl"), text, 0o600))
	refused(t, open(t), live, ingest.Options{MaxRejectedRatio: 0.5}, "results.jsonl once more")
}
