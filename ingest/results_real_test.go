//go:build duckdb_arrow

package ingest_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// The real results come in whole, and what can be worked out of them again is what
// Python's own sums and order statistics say, apart from this code.
func TestRealResults(t *testing.T) {
	w := open(t)
	var paths []string
	for _, pattern := range []string{
		"vllm-bench/*/*", "vllm-runs/*/openai-*.json", "vllm-metrics/*/raw.json", "vllm-cpu/bench-serve-*.json", "sglang-bench/*",
		"aiperf/*/profile_export*", "argonne-llm-inference-bench/*",
	} {
		found, err := filepath.Glob(filepath.Join(shared(t, "traces"), pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		paths = append(paths, found...)
	}
	results, err := ingest.Load(context.Background(), w, paths, ingest.Options{})
	if err != nil || len(results) != len(paths) {
		t.Fatalf("%d of %d files: %v", len(results), len(paths), err)
	}
	got := table(t, w, "select format, count(*), sum(rows_kept), sum(rows_rejected) from raw.sources group by format order by format")
	want := [][]string{
		{"aiperf", "1", "1", "0"}, {"aiperf-requests", "1", "11", "0"}, {"argonne", "1", "4772", "0"}, {"inferencex", "72", "72", "0"},
		{"sglang-bench", "1", "7", "0"}, {"vllm-bench-latency", "7", "19", "0"}, {"vllm-bench-serve", "35", "1071", "0"},
		{"vllm-bench-throughput", "17", "17", "0"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("formats: got %v, want %v", got, want)
	}
	// Gaps are kept in whole microseconds, all else to the last digits.
	const exact, gaps = 1e-9, 5e-7
	for _, c := range []struct {
		source, name, statistic string
		value, within           float64
	}{
		{"nvidia-vllm-16%", "ttft", "mean", 2.393548697202925, exact},
		{"nvidia-vllm-16%", "ttft", "p50", 0.9563896990002831, exact},
		{"nvidia-vllm-16%", "ttft", "p99", 10.040932187399449, exact},
		{"nvidia-vllm-16%", "tpot", "mean", 0.10474911985579472, exact},
		{"nvidia-vllm-16%", "tpot", "p99", 0.12772869584641727, exact},
		{"nvidia-vllm-16%", "itl", "mean", 0.09948882072751353, gaps},
		{"nvidia-vllm-16%", "itl", "p99", 0.29083847719986807, gaps},
		{"nvidia-vllm-16%", "request_throughput", "value", 6.16882837033, 1e-7},
		{"bench-serve-random", "ttft", "p99", 0.0430717636799227, exact},
		{"bench-serve-random", "tpot", "mean", 0.006353357873573117, exact},
		{"bench-serve-random", "e2el", "p99", 0.3422658944498926, exact},
		{"bench-serve-random", "itl", "p50", 0.006081824499915456, gaps},
		{"bench-serve-random", "output_throughput", "value", 258.32209035347915, exact},
		{"bench-serve-random-chat", "tpot", "p50", 0.008368098217379552, exact},
		{"bench-serve-random-chat", "itl", "p99", 0.01374694012, gaps},
		{"profile-export-aiperf", "time_to_first_token", "mean", 0.0312755395, exact},
		{"profile-export-aiperf", "inter_token_latency", "p99", 0.01822933798, exact},
		{"profile-export-aiperf", "request_latency", "p50", 3.637675524, exact},
		{"profile-export-aiperf", "inter_chunk_latency", "p99", 0.02035359358, gaps},
		{"nvidia-latency%np128", "latency", "p99", 474.9046756835201, exact},
	} {
		var got float64
		err := w.DB().QueryRow("select recomputed_value from marts.recomputed_figures where source_name like ? and name = ? and statistic = ?",
			c.source, c.name, c.statistic).Scan(&got)
		if err != nil || math.Abs(got-c.value) > max(c.within, 1e-9*c.value) {
			t.Errorf("%s of %s, %s: got %v (%v), want %v", c.name, c.source, c.statistic, got, err, c.value)
		}
	}
	realReasons(t, table(t, w, `
		select tool, computed_from, is_equal, coalesce(reason, ''), count(*)
		from marts.recomputed_figures
		where reason is distinct from 'gaps are kept in whole microseconds'
		group by all
		order by all`))
	if got := table(t, w, "select point, other_point from checks.points_of_one_workload order by all"); fmt.Sprint(got) != "[[2 5] [3 6]]" {
		t.Errorf("workloads: got %v; the file of SGLang has 4/s and 8/s twice", got)
	}
	if unknown := number(t, w, "select count(*) from checks.recomputed_figures_agree"); unknown != 0 {
		t.Errorf("%d figures differ and nobody knows why", unknown)
	}
}

// realReasons sees that what differs does so for the reasons that are known.
func realReasons(t *testing.T, got [][]string) {
	t.Helper()
	var lines []string
	for _, row := range got {
		lines = append(lines, strings.Join(row, " | "))
	}
	want := []string{
		"aiperf | requests | false | the requests are 10 of 64 | 62",
		"argonne | batch | false | the file has about six digits | 1427",
		"argonne | batch | true |  | 3345",
		"vllm-bench-serve | requests | false | to the tool, 379 answers without a token succeeded with a TTFT of 0 | 7",
		"vllm-bench-serve | requests | false | no latencies in the file: the time from the last chunk to the end of the stream is missing | 4",
	}
	for _, line := range want {
		must.Say(t, strings.Join(lines, "\n"), line)
	}
	for _, line := range lines {
		must.NotSay(t, line, "| false |  |")
	}
}
