//go:build duckdb_arrow

package ingest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// What a search reached is a mean over trials, its failed iteration has no figure, and
// its boundary is a point of its own.
func TestAIPerfSearchInTheMarts(t *testing.T) {
	w := open(t)
	load(t, w, filepath.Join("..", "fixtures", "tools", "aiperf-search", "search_history.json"), ingest.Options{MaxRejectedRatio: 0.5})
	answers(t, w, `select point, max_concurrency, quantity, definition_id, statistic, value from marts.figures where quantity is not null order by point`,
		"0 64 output_tokens_per_s succeeded_over_run_client_count_mean_over_trials value 2100.5|2 256 output_tokens_per_s succeeded_over_run_client_count_mean_over_trials value 4172.25")
	answers(t, w, `select max_concurrency, name, statistic, printed from marts.figures where starts_with(name, 'boundary') order by name, statistic`,
		"256 boundary.concurrency.boundary_ci ci_high 264.2|256 boundary.concurrency.boundary_ci ci_low 248.7|256 boundary.concurrency.feasible_max value 256.0|256 boundary.concurrency.infeasible_min value 320.0")
	answers(t, w, `select point from raw.points where (settings ->> '$.is_searches_choice') = 'true'`, "2")
}

// The windows of adaptive scale in our words; a range without a failing load says so.
func TestAIPerfAdaptiveInTheMarts(t *testing.T) {
	w := open(t)
	load(t, w, filepath.Join("..", "fixtures", "tools", "aiperf-search", "adaptive_scale_summary.json"), ingest.Options{})
	answers(t, w, `select point, quantity, definition_id, value from marts.figures where statistic = 'p99' order by quantity`,
		"0 e2e_s sent_to_end_of_answer_of_a_window 0.079|0 tpot_s after_first_token_client_count_of_a_window 0.004|0 ttft_s sent_to_first_token_of_a_window 0.025")
	w = open(t)
	result := load(t, w, filepath.Join("..", "fixtures", "tools", "aiperf-search", "adaptive_scale_v1.json"), ingest.Options{})
	if !slices.ContainsFunc(result.Notes, func(note string) bool { return strings.Contains(note, "the end of the range, not the server's") }) {
		t.Errorf("notes: %q", result.Notes)
	}
	err := refused(t, w, write(t, "adaptive_scale_events.jsonl", []byte(`{"control_variable":"concurrency","event":"adaptive_window","schema_version":2}`+"\n")), ingest.Options{}, "events of AIPerf's adaptive scale")
	must.Say(t, hint.Of(err), "adaptive_scale_summary.json")
}

// Phases come in by their names, once, without warm-up and without what lies outside
// the folder.
func TestAIPerfPhasesInTheMarts(t *testing.T) {
	w := open(t)
	folder := filepath.Join("..", "fixtures", "tools", "aiperf-search")
	must.Get(ingest.Load(t.Context(), w, []string{filepath.Join(folder, "phase_manifest.json"), filepath.Join(folder, "phases")}, ingest.Options{MaxRejectedRatio: 0.5}))(t)
	answers(t, w, "select label, max_concurrency, requests, completed, mean_ttft_s, request_per_s, epoch(started_at)::bigint from marts.points order by point",
		"baseline_traffic 4 102 100 0.1205 3.25 1793000020|storm 64 102 100 0.41025 3.25 1793000051")
}
