//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"tidemark/ingest"
)

// A server's averages become metrics under the names of the same gauges.
func TestVLLMLog(t *testing.T) {
	cases := []struct{ file, query, want string }{
		{"vllm-v0.log", "select scrape, at_ns, name, labels, value from raw.metrics where scrape = 1 order by name", `[
			[1 32000000000 vllm:avg_generation_throughput_toks_per_s  3502.1]
			[1 32000000000 vllm:avg_prompt_throughput_toks_per_s  11053.5]
			[1 32000000000 vllm:cpu_cache_usage_perc  0.125]
			[1 32000000000 vllm:gpu_cache_usage_perc  0.835]
			[1 32000000000 vllm:num_requests_running  225.0]
			[1 32000000000 vllm:num_requests_swapped  1.0]
			[1 32000000000 vllm:num_requests_waiting  1775.0]]`},
		{"vllm-v0.log", "select kind, is_dated, rows_read from raw.sources", "[[metrics false 14]]"},
		{"vllm-v1.log", "select at_ns, name, labels, value from raw.metrics where name like '%perc' or name like '%hit_rate' order by at_ns, name", `[
			[5000000000 vllm:gpu_prefix_cache_hit_rate engine="0" 0.25]
			[5000000000 vllm:kv_cache_usage_perc engine="0" 0.5]
			[15000000000 vllm:gpu_prefix_cache_hit_rate engine="1" 0.0]
			[15000000000 vllm:kv_cache_usage_perc engine="1" 0.005]]`},
		{"vllm-requests.log", "select window_from_s, window_until_s, requests from raw.rate_windows order by 1", "[[0.0 60.0 2.0] [60.0 120.0 0.0] [120.0 130.0 2.0]]"},
		{"vllm-requests.log", "select kind, rows_kept from raw.sources", "[[lengths 9]]"},
	}
	for _, c := range cases {
		w := open(t)
		result := load(t, w, "../fixtures/logs/"+c.file, ingest.Options{})
		want := strings.ReplaceAll(c.want, "\n\t\t\t", " ")
		if got := fmt.Sprint(table(t, w, c.query)); got != strings.Replace(want, "[ [", "[[", 1) {
			t.Errorf("%s: %s:\ngot  %s\nwant %s", c.file, c.query, got, c.want)
		}
		if !strings.Contains(strings.Join(result.Notes, "\n"), "neither year nor zone") {
			t.Errorf("%s: notes %q", c.file, result.Notes)
		}
	}
	refused(t, open(t), "../fixtures/logs/vllm-requests.log", ingest.Options{RefuseText: true}, "it holds text (prompt)")
}

// A terminal's colours say nothing.
func TestAColouredLogIsReadAsAPlainOne(t *testing.T) {
	plain, err := os.ReadFile("../fixtures/logs/vllm-v1.log")
	if err != nil {
		t.Fatal(err)
	}
	coloured := regexp.MustCompile(`(INFO|\[[a-z.]+:\d+\])`).ReplaceAll(plain, []byte("\x1b[32m$1\x1b[0;0m"))
	const query = "select at_ns, name, labels, value from raw.metrics order by all"
	var got []string
	for _, text := range [][]byte{plain, coloured} {
		w := open(t)
		load(t, w, write(t, "server.log", text), ingest.Options{})
		got = append(got, fmt.Sprint(table(t, w, query)))
	}
	if got[0] != got[1] || len(got[0]) < 100 {
		t.Errorf("plain\n%s\ncoloured\n%s", got[0], got[1])
	}
}

// The real log has 27 lines of averages, five seconds apart, with seven figures
// each, and at most 242 requests at once (counted by grep).
func TestRealVLLMLog(t *testing.T) {
	w := open(t)
	result := load(t, w, shared(t, "traces/vllm-runs/h100-64gb-llama-2-7b-out260-maxseqs256/server_out.log.gz"), ingest.Options{})
	if result.Format != "vllm-log" || result.RowsKept != 27*7 || result.RowsRejected != 0 {
		t.Errorf("got %+v", result)
	}
	got := table(t, w, "select min(at_ns) / 1e9, max(value) filter (where name = 'vllm:num_requests_running'), max(value) filter (where name = 'vllm:gpu_cache_usage_perc') from raw.metrics")
	if fmt.Sprint(got) != "[[27.0 242.0 0.998]]" {
		t.Errorf("got %v", got)
	}
}
