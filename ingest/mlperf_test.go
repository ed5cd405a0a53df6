//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// A server's rate is what was completed, not what was scheduled; times count from when
// requests were due.
func TestMLPerfInTheMarts(t *testing.T) {
	w := open(t)
	folder := filepath.Join("..", "fixtures", "tools", "mlperf")
	load(t, w, filepath.Join(folder, "server.txt"), ingest.Options{})
	load(t, w, filepath.Join(folder, "several.txt"), ingest.Options{})
	answers(t, w, `select label, load, request_rate_per_s, max_concurrency, request_per_s, output_token_per_s, round(p99_ttft_s, 3) as ttft_s,
		round(p99_tpot_s, 4) as tpot_s, ttft_definition from marts.points order by label`, "MultiStream closed  8     |Offline at once   112.646 33396.9   |"+
		"Server open 104.0  99.86 29522.56 1.45 0.098 due_to_first_token|SingleStream closed  1 0.99 98.1   due_to_first_token")
	answers(t, w, `select name, statistic, value from staging.figures where quantity = 'sent_requests_per_s'`,
		"Scheduled samples per second value 104.15")
	answers(t, w, "select settings ->> '$.status', settings ->> '$.qsl_rng_seed' from raw.points where settings ->> '$.scenario' = 'Server'",
		"VALID 6023615788873153749")
}

// The folders of a submission say the system, the model, and Interactive, which LoadGen
// calls Server. What else lies there is passed over, and says so when it is asked for.
func TestMLPerfSubmission(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "tools", "mlperf", "server.txt")))(t)
	run := filepath.Join(t.TempDir(), "results", "H100x8", "llama2-70b-99", "Interactive", "performance", "run_1")
	must.Do(t, os.MkdirAll(run, 0o700))
	detail := filepath.Join(run, "mlperf_log_detail.txt")
	for path, text := range map[string]string{filepath.Join(run, "mlperf_log_summary.txt"): string(text), detail: `:::MLLOG {"key": "loadgen_version", "value": "5.0"}` + "\n"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	w := open(t)
	must.Get(ingest.Load(t.Context(), w, []string{filepath.Join(run, "..", "..", "..", "..")}, ingest.Options{}))(t)
	answers(t, w, "select label, hardware, model, settings ->> '$.scenario' as scenario, request_rate_per_s from raw.points",
		"Interactive H100x8 llama2-70b-99 Interactive 104.0")
	if err := refused(t, open(t), detail, ingest.Options{}, "detailed log"); !strings.Contains(hint.Of(err), "mlperf_log_summary.txt") {
		t.Errorf("hint: %q", hint.Of(err))
	}
	accuracy := strings.Replace(string(text), "PerformanceOnly", "AccuracyOnly", 1)
	if err := refused(t, open(t), write(t, "mlperf_log_summary.txt", []byte(accuracy)), ingest.Options{}, "without a speed"); !strings.Contains(hint.Of(err), "performance/run_1") {
		t.Errorf("hint: %q", hint.Of(err))
	}
}
