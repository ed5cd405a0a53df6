//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Steps of two ranks in envelopes; the heartbeat of rank 1 is no step, and between 8 and 11 of rank 0 two records are missing.
func TestForwardPassMetrics(t *testing.T) {
	const query = "select engine, rank, seq, at_ns, elapsed_s, prefill_requests, prefill_tokens, prefill_kv_tokens, decode_requests, decode_tokens, decode_kv_tokens, queued_requests from raw.steps order by rank, seq"
	w := open(t)
	result := load(t, w, "../fixtures/metrics/fpm.jsonl", ingest.Options{})
	const want = "[[4192 0 7 0 0.031 2 256 64 0 0 0 1] [4192 0 8 14000000 0.0125 0 0 0 2 2 322 0] [4192 0 11 60000000 0.0126 0 0 0 2 2 324 0] [4192 1 7 1000000 0.0295 0 0 0 3 3 1024 0]]"
	if got := fmt.Sprint(table(t, w, query)); got != want || result.Format != "fpm" {
		t.Errorf("%s:\ngot  %s\nwant %s", result.Format, got, want)
	}
	if got := fmt.Sprint(table(t, w, "select epoch_ms(origin_at), is_by_api_server, is_async, is_sampled, lost_steps from raw.sources inner join raw.step_sources using (source_id)")); got != "[[1782777601250 false false false 2]]" {
		t.Errorf("got %s", got)
	}

	// Without an envelope there are no instants, and a worker's name with blanks in it is somebody's.
	w = open(t)
	result = load(t, w, "../fixtures/metrics/fpm-bare.jsonl", ingest.Options{})
	const bare = "[[worker-1 0 7 31000000 0.031 2 256 64 0 0 0 ] [worker-1 0 8 43500000 0.0125 0 0 0 2 2 322 ] [worker-1 1 7 29500000 0.0295 0 0 0 3 3 1024 ]]"
	if got := fmt.Sprint(table(t, w, query)); got != bare || !strings.Contains(strings.Join(result.Notes, " "), "cannot be joined to a run") {
		t.Errorf("bare: got %s, notes %q", got, result.Notes)
	}

	// A sample has no lost records: all but a few are left out.
	text := must.Get(os.ReadFile("../fixtures/metrics/fpm.jsonl"))(t)
	w = open(t)
	result = load(t, w, write(t, "sampled.jsonl", []byte(strings.ReplaceAll(string(text), `"full"`, `"sampled"`))), ingest.Options{})
	if got := fmt.Sprint(table(t, w, "select is_sampled, lost_steps from raw.step_sources")); got != "[[true 0]]" || !strings.Contains(strings.Join(result.Notes, " "), "the trace is a sample") {
		t.Errorf("sampled: got %s, notes %q", got, result.Notes)
	}
}
