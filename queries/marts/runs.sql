-- One row per replay: what was sent where, what came back, how late the client was,
-- and how far decoding is from what the memory allows. Warm-up is left out of all but
-- what identifies the run.
--
-- Percentiles are over successful requests, p99 withheld (null) below 100 samples;
-- lateness is over all that were sent. A run is invalid, neither pass nor fail, when it
-- never ended, lost measurements, sent nothing or nothing succeeded, when its p99 lateness (waits
-- behind a cap left out) or the p99 lag of its own reads is above its limit, however few the samples,
-- when the client stood still for too long or was short of files, ports or disk, or when more than 1 % of
-- its requests beat the floor, however late its reads: a data error.
-- run_id                   the replay
-- name                     what the user called it
-- note                     what the user wrote about it
-- started_at               when it began
-- ended_at                 when it ended; null while it runs or after a kill
-- status                   'running', 'done', 'interrupted' or 'aborted'
-- has_ended                false while it runs and after a kill: what has no row was not sent or did not end
-- measured_on              what was measured: 'simulated ...', or the engine and what it ran on
-- is_simulated             measured on a simulated server
-- is_draft                 GPU or model is not known: shown, not compared
-- base_url                 the server that was asked
-- endpoint                 the path on it
-- served_model             the name that the server serves the model under
-- source_name              the trace or profile that was sent
-- source_sha256            fingerprint of that file
-- plan_fingerprint         sha256 of the plan as sent
-- gpu                      GPU as the user named it
-- catalog_model            model as the user named it
-- tensor_parallel_size     GPUs that share the model
-- quantization             format of the weights
-- kv_cache_dtype           format of the KV cache
-- engine                   'vllm', ...
-- engine_version           as the user or the server said
-- max_num_seqs             sequences that the engine runs at once
-- max_num_batched_tokens   tokens of one engine step
-- environment_source       who said what it ran on: 'flags', 'file' or 'server'
-- server_version           what the server said
-- speed, thin, thicken     how the trace was scaled
-- spread_tick_s            requests of one tick of the trace's clock were spread over it, seconds; null: sent as they came
-- session_rate_per_s       sessions without a start of their own were begun at so many a second, by chance; null: none was
-- seed                     of everything that was drawn
-- mode                     'open', 'sessions' or 'closed': in a closed loop from due is from sent
-- max_concurrency          closed: requests in flight; else a cap over the due times; null for none
-- history                  of a session's later turns: 'planned' or 'answered'
-- cache_asked              what was asked of the prefix cache: '', 'reset' or 'cold'
-- warm_up_s                requests due before it are left out, seconds
-- endpoints                base urls that were sent to
-- series_id, series_name, hypothesis, variable, value   the experiment that it is a step of; null: it stands alone
-- duration_s               length of the run, seconds
-- planned                  requests planned
-- sent                     of these, sent
-- completed                of these, successful
-- failed                   tried and not successful: planned is completed + failed + unsent
-- unsent                   never tried; of a run that has not ended: not sent or not ended
-- warm_up_requests         flagged requests, sent or not: in none of these counts
-- below_floor              requests that beat the floor, however late the client read: the check not_below_floor names them; null without a prediction
-- ok_ratio                 completed / planned
-- window_s                 from the first due time to the last stream's end, seconds
-- request_per_s            completed requests per second of that window
-- prompt_token_per_s       prompt tokens of completed requests per second of it
-- output_token_per_s       received tokens of completed requests per second of it; null where the count of some is not known
-- p50_ttft_s, p95_ttft_s, p99_ttft_s                               time to first token, from sent, seconds
-- p50_ttft_from_due_s, p95_ttft_from_due_s, p99_ttft_from_due_s    time to first token, from due, seconds
-- p50_tpot_s, p95_tpot_s, p99_tpot_s                               time per token after the first, seconds
-- p50_e2e_s, p95_e2e_s, p99_e2e_s                                  from sent to the last token, seconds
-- p50_lateness_s, p99_lateness_s, max_lateness_s                   sent after due, seconds: the client's fault
-- lateness_limit_s         p99 lateness above it makes the run invalid, seconds
-- is_valid                 the run is whole, the client kept time, some request succeeded and no more than 1 % beat the floor
-- invalid_reason           why not, and what to look at
-- floor_tpot_s             median over requests: what HBM alone needs, seconds; null for drafts, as are the next three
-- predicted_tpot_s         median over requests: predicted, seconds
-- slowdown_ratio           median over requests of measured / predicted time per token
-- floor_ratio              median over requests of measured time per token / floor
with counts as (
    select
        run_id,
        count(*) as planned,
        count(*) filter (where is_sent) as sent,
        count(*) filter (where not is_sent and failure is null) as without_row,
        count(*) filter (where is_success) as completed,
        count(*) filter (where failure is not null) as failed,
        max(coalesce(done_s, last_token_s, sent_s)) - min(due_s) as window_s,
        sum(coalesce(input_tokens_reported, input_tokens)) filter (where is_success) as input_tokens,
        case when count(*) filter (where is_success and received_tokens is null) = 0
            then coalesce(sum(received_tokens) filter (where is_success), 0) end as received_tokens,
        count(*) filter (where is_success and tpot_s is not null) as with_tpot,
        quantile_cont(ttft_s, [0.5, 0.95, 0.99]) filter (where is_success) as ttft,
        quantile_cont(ttft_from_due_s, [0.5, 0.95, 0.99]) filter (where is_success) as ttft_from_due,
        quantile_cont(tpot_s, [0.5, 0.95, 0.99]) filter (where is_success) as tpot,
        quantile_cont(e2e_s, [0.5, 0.95, 0.99]) filter (where is_success) as e2e,
        quantile_cont(lateness_s, [0.5, 0.99]) as lateness,
        max(lateness_s) as max_lateness_s
    from staging.requests
    where not is_warm_up
    group by run_id
),

-- Warm-up is in: run.json counts it too.
stored as (
    select
        run_id,
        count(*) filter (where is_sent) as sent,
        count(*) filter (where is_success) as completed,
        count(*) filter (where is_warm_up) as warm_up
    from staging.requests
    group by run_id
),

gaps as materialized (
    select
        tpot_gap.run_id,
        median(floor_tpot_s) as floor_tpot_s,
        median(predicted_tpot_s) as predicted_tpot_s,
        median(slowdown_ratio) as slowdown_ratio,
        median(floor_ratio) as floor_ratio,
        case
            when count(floor_tpot_s) > 0
                then count(*) filter (where macros.is_below_floor(tpot_s, floor_tpot_s, decode_tokens, clients.lag_max_s))
        end as below_floor
    from marts.tpot_gap
    left join staging.clients on clients.run_id = tpot_gap.run_id
    group by tpot_gap.run_id
),

verdicts as (
    select
        runs.run_id,
        case
            when not runs.has_ended
                then 'the run never ended (killed?): '
                    || case
                        when counts.without_row = 1 then '1 request has no row'
                        when counts.without_row > 1 then counts.without_row || ' requests have no row'
                        else 'run.json holds no result'
                    end
                    || '; look at the run''s folder, or run it again'
            when runs.reported_sent <> coalesce(stored.sent, 0) or runs.reported_completed <> coalesce(stored.completed, 0)
                then printf(
                    'measurements are missing: run.json says %d sent and %d completed, the rows say %d and %d; '
                    || 'look at requests.jsonl.zst, it may be cut or of another run',
                    runs.reported_sent, runs.reported_completed, coalesce(stored.sent, 0), coalesce(stored.completed, 0)
                )
            when counts.planned is null and stored.sent > 0 then 'all of it was warm-up: nothing is left to measure'
            when coalesce(counts.sent, 0) = 0 and stored.sent > 0 then 'no request was sent after the warm-up'
            when coalesce(counts.sent, 0) = 0 then 'no request was sent'
            when counts.completed = 0 then 'no request succeeded, so nothing was measured'
            when counts.lateness[2] > coalesce(runs.max_lateness_s, 10e-3)
                then printf(
                    'p99 lateness %.3g ms is above %.3g ms',
                    counts.lateness[2] * 1e3, coalesce(runs.max_lateness_s, 10e-3) * 1e3
                )
            when clients.lag_p99_s > coalesce(runs.max_lateness_s, 10e-3)
                then printf(
                    'the client read late: p99 lag %.3g ms is above %.3g ms',
                    clients.lag_p99_s * 1e3, coalesce(runs.max_lateness_s, 10e-3) * 1e3
                )
            when clients.stall_s > clients.max_stall_s
                then printf(
                    'the client itself stood still for %.3g ms, more than %.3g ms',
                    clients.stall_s * 1e3, clients.max_stall_s * 1e3
                )
            when not runs.reported_valid then coalesce(runs.reported_reason, 'the engine says so')
            when gaps.below_floor > 1e-2 * counts.completed
                then macros.counted(gaps.below_floor, 'request')
                    || ' decoded faster than memory allows: check GPU, model, format, tensor parallel size'
        end as invalid_reason
    from staging.runs
    left join counts on counts.run_id = runs.run_id
    left join stored on stored.run_id = runs.run_id
    left join gaps on gaps.run_id = runs.run_id
    left join staging.clients on clients.run_id = runs.run_id
)

select
    runs.run_id,
    runs.name,
    runs.note,
    runs.started_at,
    runs.ended_at,
    runs.status,
    runs.has_ended,
    case
        when runs.is_simulated then concat_ws(' ', 'simulated', coalesce(runs.simulates, 'server'))
        else concat_ws(
            ' ',
            coalesce(runs.engine, case when runs.server_version is not null then 'vllm' end, 'unknown server'),
            coalesce(runs.server_version, runs.engine_version),
            case when runs.gpu is not null then concat_ws(' ', 'on', runs.gpu, 'x' || coalesce(runs.tensor_parallel_size, 1)) end
        )
    end as measured_on,
    runs.is_simulated,
    runs.is_draft,
    runs.base_url,
    runs.endpoint,
    runs.served_model,
    runs.source_name,
    runs.source_sha256,
    runs.plan_fingerprint,
    runs.gpu,
    runs.catalog_model,
    runs.tensor_parallel_size,
    runs.quantization,
    runs.kv_cache_dtype,
    runs.engine,
    runs.engine_version,
    runs.max_num_seqs,
    runs.max_num_batched_tokens,
    runs.environment_source,
    runs.server_version,
    runs.speed,
    runs.thin,
    runs.thicken,
    runs.spread_tick_s,
    runs.session_rate_per_s,
    runs.seed,
    runs.mode,
    runs.max_concurrency,
    runs.history,
    runs.cache_asked,
    runs.warm_up_s,
    runs.endpoints,
    runs.series_id,
    runs.series_name,
    runs.hypothesis,
    runs.variable,
    runs.value,
    runs.duration_s,
    coalesce(counts.planned, 0) as planned,
    coalesce(counts.sent, 0) as sent,
    coalesce(counts.completed, 0) as completed,
    coalesce(counts.failed, 0) as failed,
    coalesce(counts.planned - counts.completed - counts.failed, 0) as unsent,
    coalesce(stored.warm_up, 0) as warm_up_requests,
    gaps.below_floor,
    counts.completed / counts.planned as ok_ratio,
    counts.window_s,
    counts.completed / nullif(counts.window_s, 0) as request_per_s,
    coalesce(counts.input_tokens, 0) / nullif(counts.window_s, 0) as prompt_token_per_s,
    counts.received_tokens / nullif(counts.window_s, 0) as output_token_per_s,
    counts.ttft[1] as p50_ttft_s,
    counts.ttft[2] as p95_ttft_s,
    case when counts.completed >= 100 then counts.ttft[3] end as p99_ttft_s,
    counts.ttft_from_due[1] as p50_ttft_from_due_s,
    counts.ttft_from_due[2] as p95_ttft_from_due_s,
    case when counts.completed >= 100 then counts.ttft_from_due[3] end as p99_ttft_from_due_s,
    counts.tpot[1] as p50_tpot_s,
    counts.tpot[2] as p95_tpot_s,
    case when counts.with_tpot >= 100 then counts.tpot[3] end as p99_tpot_s,
    counts.e2e[1] as p50_e2e_s,
    counts.e2e[2] as p95_e2e_s,
    case when counts.completed >= 100 then counts.e2e[3] end as p99_e2e_s,
    counts.lateness[1] as p50_lateness_s,
    case when counts.sent >= 100 then counts.lateness[2] end as p99_lateness_s,
    counts.max_lateness_s,
    runs.max_lateness_s as lateness_limit_s,
    verdicts.invalid_reason is null as is_valid,
    verdicts.invalid_reason,
    gaps.floor_tpot_s,
    gaps.predicted_tpot_s,
    gaps.slowdown_ratio,
    gaps.floor_ratio
from staging.runs
inner join verdicts on verdicts.run_id = runs.run_id
left join counts on counts.run_id = runs.run_id
left join stored on stored.run_id = runs.run_id
left join gaps on gaps.run_id = runs.run_id
