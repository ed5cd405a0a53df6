//go:build duckdb_arrow

package reports_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/reports"
)

// recorded is a run as ingest would have left it in the raw tables.
type recorded struct {
	id, name, note string
	isSimulated    bool
	isDraft        bool // no environment
	isKilled       bool // its last half never ended, and nothing was written at its end
	requests       int
	slowness       float64 // 1: as the rest, 2: each gap twice as long
	lateness       float64 // seconds, of the latest
	text           string  // stands in every other field that users or servers fill; empty: something usual
	isFull         bool    // all that a run can say: an SLO, two classes, two turns, two servers, their metrics and settings, the client
	level          string  // of an experiment that varies the number in flight; empty: the run stands alone
}

// record makes a warehouse that holds these runs and the trace they were made from.
func record(t testing.TB, runs ...recorded) *sql.DB {
	t.Helper()
	w := warehousetest.Open(t)
	insert(t, w.DB(), `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at)
values (1, 'azure-code', 'arrivals', 'azure', 'azure.csv', 'ab12', 1000, 3, 3, 0, null, true, 'datetime', 'UTC', null, 1, '2026-11-20 12:00:00+00')`)
	insert(t, w.DB(), `insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens) values (1, 1, 0, 900, 20), (1, 2, 1000000000, 500, 30), (1, 3, 9000000000, 700, 10)`)
	for i, run := range runs {
		insertRun(t, w.DB(), i+2, run)
	}
	return w.DB()
}

func insertRun(t testing.TB, db *sql.DB, sourceID int, run recorded) {
	t.Helper()
	insert(t, db, `insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values ($1, $2, 'run', 'run', 'runs', $2, 1, 1, 1, 0, null, false, 's', null, null, 1, '2026-11-20 12:00:00+00')`, sourceID, "run of "+run.id)
	document := must.Get(json.Marshal(run.document()))(t)
	insert(t, db, `insert into raw.runs values ($1, $2, $3)`, run.id, sourceID, string(document))
	// Two a second, 16 to 63 tokens each in gaps of about 6 ms that grow with the run; every hundredth is refused.
	insert(t, db, `
insert into raw.requests (run_id, seq, session_id, class, is_warm_up, input_tokens, output_tokens, due_s, sent_s,
    first_token_s, last_token_s, done_s, held_s, input_tokens_reported, output_tokens_reported, http_status, finish_reason,
    failure, chunk_offsets_us, chunk_tokens, reads)
with planned as (
    select
        seq,
        seq / 2 as due_s,
        seq / 2 + $3 * ((seq * 7919) % 101) / 100 as sent_s,
        500 + (seq * 37) % 900 as input_tokens,
        16 + (seq * 13) % 48 as output_tokens,
        0.040 + 0.0004 * ((seq * 31) % 97) as ttft_s,
        $4 * (0.006 + 0.000002 * seq + 0.00001 * ((seq * 17) % 89)) as gap_s,
        seq % 100 = 99 as is_refused
    from range($2) as numbers (seq)
)
select
    $1, seq, 's' || seq, $5, false, input_tokens, output_tokens, due_s, sent_s,
    case when not is_refused then sent_s + ttft_s end,
    case when not is_refused then sent_s + ttft_s + gap_s * (output_tokens - 1) end,
    sent_s + ttft_s + case when is_refused then 0 else gap_s * output_tokens end,
    0, case when not is_refused then input_tokens end, case when not is_refused then output_tokens end,
    case when is_refused then 429 else 200 end, case when not is_refused then 'length' end,
    case when is_refused then coalesce(nullif($5, ''), 'http_429') end,
    case when not is_refused then [(1e6 * (ttft_s + gap_s * token))::integer for token in range(output_tokens)] end,
    case when not is_refused then [1 for token in range(output_tokens)] end,
    output_tokens
from planned`, run.id, run.requests, run.lateness, max(run.slowness, 1), run.text)
	if run.isFull {
		fill(t, db, run)
	}
	if run.isKilled {
		insert(t, db, `
update raw.requests
set sent_s = null, first_token_s = null, last_token_s = null, done_s = null, failure = null, chunk_offsets_us = null, chunk_tokens = null
where run_id = $1 and seq >= $2`, run.id, run.requests/2)
	}
}

// fill parts a run's requests by class, turn and server, and adds what the server said each second, but for five in the
// middle when it did not answer.
func fill(t testing.TB, db *sql.DB, run recorded) {
	t.Helper()
	insert(t, db, `
update raw.requests
set session_id = 's' || seq // 2, turn = seq % 2, class = case when seq % 10 = 0 then 'long' else 'short' end,
    endpoint = case when seq % 3 = 0 then 'http://127.0.0.1:8001' else 'http://127.0.0.1:8000' end,
    shared_tokens = input_tokens // 2, cached_tokens_reported = input_tokens * 2 // 5,
    server_queue_s = 0.001, server_ttft_s = first_token_s - sent_s - 0.005, server_generation_s = last_token_s - first_token_s
where run_id = $1`, run.id)
	insert(t, db, `
insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
select $1, at_s, 'server', 'http://127.0.0.1:8000/metrics', name, '', value
from (
    unpivot (
        select
            at_s,
            1 + (at_s * 7 % 5) as "vllm:num_requests_running",
            at_s % 3 as "vllm:num_requests_waiting",
            0.1 + at_s / 200 as "vllm:kv_cache_usage_perc",
            at_s * 80 as "vllm:generation_tokens_total"
        from range(61) as seconds (at_s)
        where at_s not between 30 and 34
    )
    on columns(* exclude (at_s)) into name name value value
)`, run.id)
}

// document is run.json. What names hardware stays usual: the bandwidth model knows no other.
func (run recorded) document() map[string]any {
	usual := func(text string) string {
		if run.text != "" {
			return run.text
		}
		return text
	}
	environment := map[string]any{
		"gpu": "H100", "catalog_model": "llama-3.1-8b", "tensor_parallel_size": 1, "quantization": "bf16", "kv_cache_dtype": "bf16",
		"engine": "vllm", "engine_version": "0.24.0", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
	}
	document := map[string]any{
		"schema": "tidemark.run/1", "run_id": run.id, "name": run.name, "note": run.note,
		"started_at": "2026-11-20T12:00:00Z", "ended_at": "2026-11-20T12:10:00Z", "status": "done",
		"target":   map[string]any{"base_url": usual("http://127.0.0.1:8000"), "endpoint": usual("/v1/completions"), "model": usual("llama")},
		"settings": map[string]any{"seed": 1, "max_lateness_s": 0.010},
		"plan": map[string]any{
			"source": usual("azure-code"), "source_sha256": usual("ab12"), "fingerprint": usual("cd34"), "seed": 1, "requests": run.requests,
			"scaling": map[string]any{"speed": 1, "thin": 1, "thicken": 1},
		},
		"environment": environment, "environment_source": usual("server"),
		"server": map[string]any{"version": usual("0.24.0"), "is_simulated": run.isSimulated},
		"result": map[string]any{"is_valid": true, "invalid_reason": "", "duration_s": float64(run.requests) / 2},
	}
	if run.isSimulated {
		document["server"].(map[string]any)["simulates"] = environment
	}
	if run.isDraft {
		document["environment"] = nil
	}
	if run.isFull {
		run.full(document)
	}
	if run.level != "" {
		document["settings"].(map[string]any)["mode"] = "closed"
		document["series"] = map[string]any{"id": "e1", "name": usual("how many at once"), "hypothesis": usual("two are as fast as one"),
			"variable": usual("max_concurrency"), "value": run.level, "row": 0, "repeat": 0}
	}
	if run.isKilled {
		document["status"], document["ended_at"] = "running", ""
		delete(document, "result")
	}
	return document
}

// full adds to a run.json what only some runs say.
func (run recorded) full(document map[string]any) {
	document["slo"] = map[string]any{"name": "chat", "objectives": []map[string]any{
		{"metric": "ttft", "percentile": 95, "at_most": 0.2},
		{"metric": "itl", "percentile": 99, "at_most": 0.007},
		{"metric": "tpot", "percentile": 99, "at_most": 0.05, "class": "short"},
		{"metric": "failure_ratio", "at_most": 0.1},
	}}
	document["effective"] = map[string]any{"engine_version": "0.24.0", "max_num_seqs": 1024, "num_gpu_blocks": 27000, "enable_prefix_caching": true}
	document["readiness"] = map[string]any{"is_drained": true, "waited_s": 0, "running_before": 0,
		"cache": map[string]any{"asked": "cold", "method": "salt_per_request", "note": ""}}
	document["result"].(map[string]any)["client_stall_s"] = 0.004
	document["result"].(map[string]any)["client"] = map[string]any{
		"lag_s": map[string]any{"p50": 0.0001, "p99": 0.0006, "max": 0.004}, "cpu_s": 1.5, "cores": 2, "busiest_cpu_ratio": 0.06,
		"gc_pause_s": 0.002, "gc_cycles": 7, "open_files_max": 40, "open_files_limit": 1024, "rss_max_bytes": 60e6, "wall_step_s": 0,
		"retransmits": 0, "coalesced_ratio": 0.01, "waited_s": 0.2, "waited_for_others_s": 0.15, "most_waited_for_others_s": 0.01,
		"others_cpu_ratio": 0.125, "steal_ratio": 0, "cpu_pressure_ratio": 0.05,
	}
}

func insert(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	must.Get(db.Exec(query, args...))(t)
}

// write makes a page of what has been put in until then.
func write(t testing.TB, db *sql.DB, o reports.Options) string {
	t.Helper()
	must.Do(t, warehouse.Refresh(context.Background(), db))
	var out bytes.Buffer
	must.Do(t, reports.Write(context.Background(), db, o, &out))
	return out.String()
}
