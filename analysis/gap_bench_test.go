//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// A million requests of one run, ten a second with about twenty decoding, each with its chunks: every request
// beside its floor, its prediction and the terms of it, and one run of a few beside the million.
func BenchmarkGapOfAMillionRequests(b *testing.B) {
	w := must.Get(warehouse.Open(context.Background(), filepath.Join(b.TempDir(), "million.duckdb"), warehouse.ReadWrite))(b)
	defer w.Close()
	for _, statement := range []string{millionRequests, "checkpoint"} {
		must.Get(w.DB().Exec(statement))(b)
	}
	must.Do(b, warehouse.Refresh(b.Context(), w.DB()))
	for b.Loop() {
		for _, question := range []struct{ unit, query string }{
			{"requests-s", everyColumn + "marts.tpot_gap) as gaps"},
			{"other-run-s", everyColumn + "marts.tpot_gap where run_id = 'another') as gaps"},
		} {
			start := time.Now()
			var answer sql.NullFloat64
			must.Do(b, w.DB().QueryRow(question.query).Scan(&answer))
			b.ReportMetric(time.Since(start).Seconds(), question.unit)
		}
	}
}

// everyColumn makes DuckDB work out all of them, and hands out one number.
const everyColumn = "select sum(hash(gaps) % 2) from (select * from "

// millionRequests draws lengths and gaps from an exponential distribution, always the same ones.
const millionRequests = `
insert into raw.runs values ('20260101-120000-million', 1, '{"status": "done", "result": {"is_valid": true, "sent": 1000000, "completed": 1000000}, "environment": {"gpu": "H100", "catalog_model": "llama-3.1-8b", "tensor_parallel_size": 1, "engine": "vllm", "engine_version": "0.24.0"}}');
insert into raw.requests (run_id, seq, class, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, held_s,
    input_tokens_reported, output_tokens_reported, cached_tokens_reported, http_status, finish_reason, chunk_offsets_us)
select
    '20260101-120000-million',
    seq,
    ['chat', 'code', 'batch'][seq % 3 + 1],
    false,
    input_tokens,
    output_tokens,
    due_s,
    due_s + 1e-4,
    due_s + ttft_s,
    due_s + ttft_s + (output_tokens - 1) * tpot_s,
    due_s + ttft_s + (output_tokens - 1) * tpot_s + 1e-3,
    0,
    input_tokens,
    output_tokens,
    0,
    200,
    'length',
    list_transform(range(output_tokens), lambda i: (1e6 * (ttft_s - 1e-4 + i * tpot_s))::integer)
from (
    select
        seq,
        sum(-ln(drawn[1]) / 10) over (order by seq) as due_s,
        (1 + -1000 * ln(drawn[2]))::bigint as input_tokens,
        (2 + -100 * ln(drawn[3]))::bigint as output_tokens,
        50e-3 + 100e-3 * drawn[4] as ttft_s,
        15e-3 + 10e-3 * drawn[5] as tpot_s
    from (
        select
            seq,
            list_transform(range(5), lambda i: ((hash(seq * 5 + i) >> 11) + 1) / pow(2, 53)) as drawn
        from range(1000000) as requests (seq)
    ) as draws
) as requests;
`
