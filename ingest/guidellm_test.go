//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Attainment has failed requests in it; where nothing could be judged there is none, not
// 0. A search that did not converge gives a bound, and says so.
func TestGuideLLMGoodputInTheMarts(t *testing.T) {
	w := open(t)
	result := load(t, w, filepath.Join("..", "fixtures", "tools", "guidellm", "goodput.json"), ingest.Options{})
	notes := strings.Join(result.Notes, "\n")
	must.Say(t, notes, "12 streams is a lower bound", "1 of 3 probes had too few requests")
	answers(t, w, `select point, quantity, definition_id, value from staging.figures
		where quantity in ('accepted_ratio', 'goodput_per_s', 'good_output_tokens_per_s') and statistic in ('value', 'mean') and point > 0 order by point, quantity`, "1 accepted_ratio met_all_slos_of_determined_failed_included 0.85|1 good_output_tokens_per_s met_all_slos_rate_over_time 544.0|"+
		"1 goodput_per_s met_all_slos_rate_over_time 34.0|2 accepted_ratio met_all_slos_of_determined_failed_included 0.96|"+
		"2 good_output_tokens_per_s met_all_slos_rate_over_time 448.0|2 goodput_per_s met_all_slos_rate_over_time 28.0")
	answers(t, w, "select label, max_concurrency, request_per_s from marts.points order by point",
		"concurrent 8 20.0|concurrent 16 38.0|concurrent 12 29.0|concurrent 4 9.0|goodput search 12 ")
	answers(t, w, "select settings ->> '$.\"probe.passed\"', settings ->> '$.\"probe.resolved\"', settings ->> '$.stop_reason' from raw.points order by point",
		"true true |false true |true false |  |  max_probes_exhausted")
}

// What a constraint broke off, and a search that found nothing, are told; a
// profile_result of another shape is passed over.
func TestGuideLLMSearchesThatFoundNothing(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "tools", "guidellm", "goodput.json")))(t)
	for _, c := range []struct{ old, with, note, points string }{
		{`"aborted": false}], "best_passing_streams": 12`, `"aborted": true}], "best_passing_streams": null`, "the probe at 12 streams was broken off", "5"},
		{`"best_passing_streams": 12`, `"best_passing_streams": null`, "found no concurrency", "5"},
		{`"passed": true, "resolved": true`, `"passed": "somehow", "resolved": true`, "", "4"},
	} {
		changed := strings.Replace(string(text), c.old, c.with, 1)
		if changed == string(text) {
			t.Fatalf("nothing to replace: %s", c.old)
		}
		w := open(t)
		result := load(t, w, write(t, "report.json", []byte(changed)), ingest.Options{})
		must.Say(t, strings.Join(result.Notes, "\n"), c.note)
		answers(t, w, "select count(*) from raw.points", c.points)
	}
}
