//go:build duckdb_arrow

package ingest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// Latencies begin with a free place; TPOT is of chunks and so not the one that others
// mean; no cached token is taken from a guess. What the requests give again agrees.
func TestAgentPerfInTheMarts(t *testing.T) {
	w := open(t)
	folder := filepath.Join("..", "fixtures", "tools", "agentperf")
	result := load(t, w, filepath.Join(folder, "chat.json"), ingest.Options{})
	must.Say(t, strings.Join(result.Notes, "\n"), "1 requests waited in the client for a free place for more than a second, up to 1.41 s")
	load(t, w, filepath.Join(folder, "sessions.json"), ingest.Options{})
	answers(t, w, `select label, load, request_rate_per_s, max_concurrency, request_per_s, round(mean_ttft_s, 4) as ttft_s, tpot_definition
		from marts.points order by label`, "chat-multiturn sessions  2 1.8181818181818181 0.096 mean_of_chunk_gaps|chat-singleturn open 4.0 2 0.8 0.1206 mean_of_chunk_gaps")
	answers(t, w, `select count(*) as all_of_them, count(cached_tokens) as cached, count(due_s) as due, count(distinct session_id) as sessions, max(turn) as turn,
		count(tpot_s) as with_tpot, max(failure) as failure from staging.result_requests`, "7 0 3 2 1 4 http_503")
	answers(t, w, "select name, statistic, tool_value, recomputed_value from marts.recomputed_figures where not is_equal", "")
	if n := number(t, w, "select count(*) from marts.recomputed_figures where computed_from = 'requests'"); n < 20 {
		t.Errorf("only %d figures computed again", n)
	}
	err := refused(t, open(t), filepath.Join(folder, "sessions_per_turn.json"), ingest.Options{}, "by turns")
	must.Say(t, hint.Of(err), "without _per_turn")
}
