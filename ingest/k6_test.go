//go:build duckdb_arrow

package ingest_test

import (
	"path/filepath"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// The figures of k6 with xk6-llm are the file's, in our words and units.
func TestK6InTheMarts(t *testing.T) {
	w := open(t)
	load(t, w, filepath.Join("..", "fixtures", "tools", "k6", "summary.json"), ingest.Options{})
	for _, c := range []struct{ where, want string }{
		{"quantity = 'ttft_s' and statistic in ('mean', 'p99')", "ttft_s sent_to_first_token mean 0.1555|ttft_s sent_to_first_token p99 0.39"},
		{"quantity = 'tpot_s' and statistic in ('p99', 'count')", "tpot_s after_first_token count 27|tpot_s after_first_token p99 0.0225"},
		{"quantity = 'accepted_ratio'", "accepted_ratio met_all_slos_of_succeeded value 0.75"},
		{"quantity = 'total_output_tokens'", "total_output_tokens succeeded value 3556"},
	} {
		answers(t, w, "select quantity, definition_id, statistic, format('{:g}', value) from marts.figures where "+c.where+" order by statistic", c.want)
	}
	answers(t, w, "select requests, completed, max_concurrency, load, mean_ttft_s, p99_tpot_s, output_token_per_s from marts.points",
		"30 28 4  0.1555 0.0225 116.589")
}

// A threshold crossed is "true" to --summary-export and "ok": false to handleSummary.
func TestK6Thresholds(t *testing.T) {
	for file, want := range map[string]string{
		"export.json":  `{"threshold.http_req_duration.avg<2000":true,"threshold.http_req_duration.p(95)<1000":false}`,
		"summary.json": `{"threshold.llm_ttft.p(95)<500":true,"threshold.llm_ttft.p(99)<300":false}`,
	} {
		w := open(t)
		load(t, w, filepath.Join("..", "fixtures", "tools", "k6", file), ingest.Options{})
		answers(t, w, "select replace(settings, '\\u003c', '<') from raw.points", want)
	}
}

// A file of k6 that is not a summary is refused, and the message names the file to give instead.
func TestK6Refuses(t *testing.T) {
	samples := `{"type":"Metric","data":{"name":"http_reqs","type":"counter","contains":"default"},"metric":"http_reqs"}` + "\n" +
		`{"metric":"http_reqs","type":"Point","data":{"time":"2026-11-01T10:00:00Z","value":1,"tags":{}}}` + "\n"
	err := refused(t, open(t), write(t, "samples.json", []byte(samples)), ingest.Options{}, "k6's samples")
	must.Say(t, hint.Of(err), "--summary-export")
	refused(t, open(t), write(t, "empty.json", []byte(`{"root_group":{"checks":[]},"metrics":{}}`)), ingest.Options{}, "without a metric")
	refused(t, open(t), write(t, "cut.json", []byte(`{"root_group":{"checks":[]},"metrics":{"http_reqs":{"count":`)), ingest.Options{}, "not a whole JSON object")
}
