//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
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
		must.Say(t, strings.Join(result.Notes, "\n"), "neither year nor zone")
	}
	refused(t, open(t), "../fixtures/logs/vllm-requests.log", ingest.Options{RefuseText: true}, "it holds text (prompt)")
}

// Steps of two ranks, in the lines of API server and engine, with a line that is cut by another one.
func TestStepsOfAVLLMLog(t *testing.T) {
	w := open(t)
	result := load(t, w, "../fixtures/logs/vllm-steps.log", ingest.Options{MaxRejectedRatio: 0.2})
	const want = "[[0 10 0 0.03125 2 1500 0 0 0.015 false] [0 11 1000000000 0.008 1 100 2 4 0.015 false] [0 12 2000000000 4e-05 0 0 3 3  false] " +
		"[1 10 0 0.031 0 0 0 0  true] [1 11 2000000000 0.0075 0 0 3 3  false] [1 15 2000000000 0.00725 0 0 3 3  false]]"
	if got := fmt.Sprint(table(t, w, "select rank, seq, at_ns, elapsed_s, prefill_requests, prefill_tokens, decode_requests, decode_tokens, kv_usage_ratio, is_dummy from raw.steps order by rank, seq")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// 12, 13 and 14 of rank 1. Seconds of a year before 31 December, 23:59:58.
	if got, want := fmt.Sprint(table(t, w, "select zero_of_year_s, is_by_api_server, is_async, is_sampled, lost_steps from raw.step_sources")), "[[31622398 true true false 3]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(table(t, w, "select line, column_name, reason from raw.rejects")); got != "[[8 Iteration not a whole step]]" || result.RowsRejected != 1 {
		t.Errorf("rejects: got %s of %+v", got, result)
	}
	if got := fmt.Sprint(table(t, w, "select count(*) from raw.metrics")); got != "[[6]]" {
		t.Errorf("metrics: got %s", got)
	}
	must.Say(t, strings.Join(result.Notes, "\n"), "3 steps are missing between those that are there")
}

// A server's log in which it says nothing of its work.
func TestALogWithoutStepsOrAverages(t *testing.T) {
	text := "(APIServer pid=7) INFO 01-01 00:00:00 [api_utils.py:273] non-default args: {'model_tag': 'llama'}\n(APIServer pid=7) INFO 01-01 00:00:31 [model.py:1788] Using max model len 32768\n"
	must.Refuse(ingest.Load(t.Context(), open(t), []string{write(t, "server.log", []byte(text))}, ingest.Options{}))(t, "without a line of a step or of averages", "--enable-logging-iteration-details")
}

// What containerd, kubectl and Docker write before a line has finer instants, and a year.
func TestStepsBehindAnInstant(t *testing.T) {
	const line = " (EngineCore_DP0 pid=1) INFO 01-01 00:00:0%d [core.py:387] Iteration(%d): 0 context requests, 0 context tokens, 3 generation requests, 3 generation tokens, iteration elapsed time: 7.50 ms\n"
	for _, prefix := range []string{"2026-01-01T02:00:0%d.%s000+02:00 stderr F", "[pod/vllm-0/vllm] 2026-01-01T00:00:0%d.%s000Z", "vllm-1  | 2026-01-01T00:00:0%d.%sZ", "\x1b[36mvllm-1  |\x1b[0m 2026-01-01T00:00:0%d.%s0Z"} {
		w := open(t)
		text := fmt.Sprintf(prefix+line+prefix+line, 1, "250", 1, 7, 2, "125", 2, 8)
		load(t, w, write(t, "server.log", []byte(text)), ingest.Options{})
		got := fmt.Sprint(table(t, w, "select epoch_ms(origin_at), seq, at_ns from raw.steps inner join raw.sources using (source_id) order by seq"))
		if want := "[[1767225601250 7 0] [1767225601250 8 875000000]]"; got != want {
			t.Errorf("%s: got %s, want %s", prefix, got, want)
		}
	}
}

// As many as grep -c 'Iteration(' counts; the log was cut between two runs.
func TestRealSteps(t *testing.T) {
	w := open(t)
	load(t, w, shared(t, "traces/vllm-h100/llama-3.1-8b.log.xz"), ingest.Options{})
	load(t, w, shared(t, "traces/vllm-h100/qwen3-30b-a3b.log.xz"), ingest.Options{})
	got := fmt.Sprint(table(t, w, "select count(*), max(seq), any_value(lost_steps) from raw.steps inner join raw.step_sources using (source_id) group by source_id order by 1"))
	if want := "[[7251 7250 0] [17871 25948 8078]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A terminal's colours say nothing.
func TestAColouredLogIsReadAsAPlainOne(t *testing.T) {
	plain := must.Get(os.ReadFile("../fixtures/logs/vllm-v1.log"))(t)
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
