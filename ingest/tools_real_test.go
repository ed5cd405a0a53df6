//go:build duckdb_arrow

package ingest_test

import (
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Real reports of other tools come in whole. Wanted numbers are from Python's json
// and yaml, apart from this code.
func TestRealTools(t *testing.T) {
	cases := []struct {
		path, format string
		query, want  string
	}{
		{"traces/guidellm/guidellm_report_v2.json", "guidellm",
			`select count(*), sum(value) from raw.figures where name = 'inter_token_latency_ms' and statistic = 'mean'`, "2 2.241287912641253"},
		{"traces/guidellm/guidellm_report_v2.json", "guidellm",
			`select point, requests, completed, request_rate_per_s, model, tool_version from raw.points order by point`,
			"0 2 2 2.0 e2e-mock-model 0.8.0.dev18|1 2 2 4.0 e2e-mock-model 0.8.0.dev18"},
		{"traces/inference-perf/kubecon-na-2025-llama3-8b/vllm/stage_0_lifecycle_metrics.json", "inference-perf",
			`select statistic, value from raw.figures where name = 'time_per_output_token' and statistic in ('mean', 'p99.9') order by statistic`,
			"mean 0.0034734172405264745|p99.9 0.0035254566003550423"},
		{"traces/inference-perf/kubecon-na-2025-llama3-8b/vllm/stage_6_lifecycle_metrics.json", "inference-perf",
			`select count(*) from raw.figures where name in ('requested_rate', 'achieved_rate', 'requests_per_sec')`, "3"},
		{"traces/inference-perf/kubecon-na-2025-llama3-8b/vllm/summary_lifecycle_metrics.json", "inference-perf",
			`select requests, completed, failed, request_rate_per_s from raw.points`, "38717 38717 0 "},
		{"traces/llm-d-benchmark/inference_perf_lifecycle.yaml", "inference-perf",
			`select requests, completed, request_rate_per_s, duration_s from raw.points`, "3 3 1.0 2.48"},
		{"traces/llm-d-benchmark/br_v0_1_example.yaml", "llm-d-report",
			`select value, unit from raw.figures where name = 'time_to_first_token' and statistic = 'p90'`, "2.26959549135063 ms"},
		{"traces/llm-d-benchmark/br_v0_2_1_example.yaml", "llm-d-report",
			`select value, unit from raw.figures where name = 'time_to_first_token' and statistic in ('p0.1', 'p99.9') order by value`,
			"0.027322400792501866 s|0.057014757215045425 s"},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			w := open(t)
			if result := load(t, w, shared(t, c.path), ingest.Options{}); result.Format != c.format {
				t.Errorf("taken for %s, want %s", result.Format, c.format)
			}
			answers(t, w, c.query, c.want)
			must.NotSay(t, measured(t, w), "mengmei", "namasluk", "10.12.33", "10.39.39", "127.0.0.1")
		})
	}
}
