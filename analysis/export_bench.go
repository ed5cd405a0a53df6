package analysis

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// The result file of an exported run has the keys of "vllm bench serve --save-result --save-detailed", in that tool's order and units, so
// that scripts for that tool read it. benchQuery answers with one row, and each of its columns is one key of the file: to add a key, add
// a column. Keys that end in _ms are milliseconds, other times are seconds. Arrays have one element per request after the warm-up, failed
// requests included; those have times of 0 and the kind of their failure, as in that tool.

// benchResult is the JSON file of a run.
func benchResult(ctx context.Context, db *sql.DB, runID string) ([]byte, error) {
	table, err := ask(ctx, db, benchQuery, runID)
	if err != nil {
		return nil, err
	}
	if len(table.Rows) != 1 {
		return nil, fmt.Errorf("run %s: %d rows of a result, want one", runID, len(table.Rows))
	}
	// An object by hand, because a Go map would lose the order of the keys. HTML escaping is off, because that tool does not escape.
	var text, value bytes.Buffer
	encoder := json.NewEncoder(&value)
	encoder.SetEscapeHTML(false)
	separator := "{"
	for i, column := range table.Columns {
		cell := table.Rows[0][i]
		if column == "request_rate" && cell == nil {
			cell = "inf" // as that tool says that no rate was asked for
		}
		value.Reset()
		if err := encoder.Encode(cell); err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s%q:%s", separator, column, bytes.TrimSpace(value.Bytes()))
		separator = ","
	}
	text.WriteString("}\n")
	return text.Bytes(), nil
}

// The median and p99 are linearly interpolated and the deviation is that of the population, as numpy computes them for that tool; all are
// over successful requests. request_rate is null for a closed loop and for requests that are all due at once.
const benchQuery = `
with measured as (
    select
        requests.*,
        case when requests.is_success then coalesce(gaps.itls, []) else [] end as itls
    from staging.requests
    left join (
        select
            seq,
            list(itl_s order by chunk_seq) filter (where itl_s is not null) as itls
        from staging.chunks
        where run_id = $1
        group by seq
    ) as gaps on gaps.seq = requests.seq
    where requests.run_id = $1
        and not requests.is_warm_up
),

ok as (
    select
        seq,
        ttft_s * 1e3 as ttft,
        tpot_s * 1e3 as tpot,
        e2e_s * 1e3 as e2el
    from measured
    where is_success
),

gaps as (
    select itl_s * 1e3 as itl
    from staging.chunks
    where run_id = $1
        and itl_s is not null
        and seq in (select seq from ok)
),

per_request as (
    select
        coalesce(sum(coalesce(input_tokens_reported, input_tokens)) filter (where is_success), 0) as total_input_tokens,
        coalesce(sum(received_tokens) filter (where is_success), 0) as total_output_tokens,
        (count(*) - 1) / nullif(max(due_s) - min(due_s), 0) as rate_per_s,
        coalesce(list(coalesce(input_tokens_reported, input_tokens) order by seq), []) as input_lens,
        coalesce(list(case when is_success then coalesce(received_tokens, 0) else 0 end order by seq), []) as output_lens,
        coalesce(list(case when is_success then coalesce(ttft_s, 0) else 0 end order by seq), []) as ttfts,
        coalesce(list(itls order by seq), []) as itls,
        coalesce(list(sent_s order by seq), []) as start_times,
        coalesce(list(case when is_success then '' else coalesce(failure, 'unsent') end order by seq), []) as errors,
        coalesce(list(case when is_success then coalesce(e2e_s, 0) else 0 end order by seq), []) as latencies
    from measured
)

select
    coalesce(strftime(runs.started_at at time zone 'UTC', '%Y%m%d-%H%M%S'), '') as date,
    case when runs.endpoint = '/v1/chat/completions' then 'openai-chat' else 'openai' end as endpoint_type,
    endpoint_type as backend,
    nullif(runs.name, '') as label,
    coalesce(runs.served_model, '') as model_id,
    model_id as tokenizer_id,
    runs.planned as num_prompts,
    case when runs.mode is distinct from 'closed' then per_request.rate_per_s end as request_rate,
    runs.max_concurrency,
    runs.window_s as duration,
    runs.completed,
    runs.planned - runs.completed as failed,
    per_request.total_input_tokens,
    per_request.total_output_tokens,
    runs.request_per_s as request_throughput,
    null as request_goodput,
    runs.output_token_per_s as output_throughput,
    runs.prompt_token_per_s + runs.output_token_per_s as total_token_throughput,
    per_request.* exclude (total_input_tokens, total_output_tokens, rate_per_s),
    times.*
from marts.runs
cross join per_request
cross join (
    select
        avg(ttft) as mean_ttft_ms,
        quantile_cont(ttft, 0.5) as median_ttft_ms,
        stddev_pop(ttft) as std_ttft_ms,
        quantile_cont(ttft, 0.99) as p99_ttft_ms,
        avg(tpot) as mean_tpot_ms,
        quantile_cont(tpot, 0.5) as median_tpot_ms,
        stddev_pop(tpot) as std_tpot_ms,
        quantile_cont(tpot, 0.99) as p99_tpot_ms,
        (select avg(itl) from gaps) as mean_itl_ms,
        (select quantile_cont(itl, 0.5) from gaps) as median_itl_ms,
        (select stddev_pop(itl) from gaps) as std_itl_ms,
        (select quantile_cont(itl, 0.99) from gaps) as p99_itl_ms,
        avg(e2el) as mean_e2el_ms,
        quantile_cont(e2el, 0.5) as median_e2el_ms,
        stddev_pop(e2el) as std_e2el_ms,
        quantile_cont(e2el, 0.99) as p99_e2el_ms
    from ok
) as times
where runs.run_id = $1`
