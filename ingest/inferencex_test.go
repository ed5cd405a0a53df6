//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// The API's seconds stay seconds, what agents' itl is called does not make it a gap,
// and sessions are not requests in flight.
func TestInferenceXAPIInTheMarts(t *testing.T) {
	w := open(t)
	load(t, w, filepath.Join("..", "fixtures", "results", "inferencex-api.json"), ingest.Options{MaxRejectedRatio: 0.5})
	for _, c := range []struct{ where, want string }{
		{"point = 0 and name = 'ttft' and statistic = 'p50'", "ttft_s sent_to_first_token 0.6 closed"},
		{"point = 0 and name = 'itl'", "itl_s chunk_gaps 0.028 closed"},
		{"point = 2 and name = 'agentic.api.itl'", "tpot_s after_first_token_of_whole_response 0.005 sessions"},
		{"point = 3 and name = 'agentic.itl' and statistic = 'p90'", "tpot_s after_first_token_client_count 0.019 sessions"},
		{"point = 3 and name = 'agentic.throughput.per_gpu.total_tput_tps'", "total_tokens_per_s_per_gpu succeeded_over_run_client_count 31362.75 sessions"},
	} {
		answers(t, w, "select quantity, definition_id, value, load from marts.figures where "+c.where, c.want)
	}
	answers(t, w, "select point, tensor_parallel_size, requests, completed, mean_ttft_s, p50_ttft_s from marts.points order by point",
		"0 8    0.6|1     1.5|2 8    0.85|3 4 252 249 0.9 0.85|4 8    0.5")
}

// Two ids that are one float64 made two deployments one.
func TestInferenceXIDsAreExact(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"benchmark_results.json": `[
{"config_id":9007199254740992,"benchmark_type":"single_turn","conc":1,"metrics":{"median_ttft":0.1}},
{"config_id":9007199254740993,"benchmark_type":"single_turn","conc":2,"metrics":{"median_ttft":0.2}},
{"config_id":"9007199254740995","benchmark_type":"single_turn","conc":3,"metrics":{"median_ttft":0.3}},
{"config_id":3.0,"benchmark_type":"single_turn","conc":4,"metrics":{"median_ttft":0.4}}]`,
		"configs.json": `[
{"id":9007199254740992,"hardware":"even"},
{"id":9007199254740993,"hardware":"odd"},
{"id":9007199254740995,"hardware":"text"},
{"id":3,"hardware":"small"}]`,
	} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	w := open(t)
	load(t, w, filepath.Join(folder, "benchmark_results.json"), ingest.Options{})
	answers(t, w, "select max_concurrency, hardware from raw.points order by max_concurrency", "1 even|2 odd|3 text|4 small")
}

// A dump without its configs.json keeps the figures and says what is not known.
func TestInferenceXDumpAlone(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "results", "inferencex-dump", "benchmark_results.json")))(t)
	w := open(t)
	result := load(t, w, write(t, "benchmark_results.json", text), ingest.Options{MaxRejectedRatio: 0.5})
	if !slices.ContainsFunc(result.Notes, func(note string) bool {
		return strings.Contains(note, "configs.json of the dump belongs in the same folder")
	}) {
		t.Errorf("notes: %q", result.Notes)
	}
	answers(t, w, "select hardware, max_concurrency, (select count(*) from raw.figures) from raw.points", " 32 3")
}
