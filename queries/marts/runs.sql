-- One row per replay: what was sent where, what came back, how late the client was, and how far decoding is from what the memory allows.
-- Warm-up is left out of everything except what identifies the run.
--
-- Percentiles are over successful requests, and a p99 is withheld (null) below 100 samples; lateness is over all requests that were sent.
--
-- A run is invalid, neither pass nor fail, if the client or its set-up distorted it:
-- it never ended, lost measurements or sent nothing;
-- more than 1 % of its requests beat the floor, however late its reads (it is not the deployment that was named);
-- its p99 lateness (without waits for a concurrency cap) or the p99 lag of its own reads is above the limit, however few the samples (a
-- closed loop, whose slots become free together, is judged by what it kept in flight instead: marts.closed_loops);
-- the client stood still for too long, or was short of files, ports or disk.
-- A run in which too many requests failed is not invalid: it has failed, and it does not matter how exactly the client kept time.
-- Kept per run.
-- group: runs
-- run_id                   the replay
-- name                     what the user called it
-- note                     what the user wrote about it
-- tidemark_version         the version of tidemark that sent it; null where run.json does not say
-- started_at               when it began
-- ended_at                 when it ended; null while it runs or after a kill
-- status                   'running', 'done', 'interrupted' or 'aborted'
-- has_ended                false while it runs and after a kill: what has no row was not sent or did not end
-- measured_on              what was measured: 'simulated ...', or the engine and what it ran on
-- is_simulated             measured on a simulated server, or rehearsed
-- origin                   'measured', 'simulated' or 'rehearsed'
-- is_draft                 GPU or model is not known: shown, not compared
-- unmodelled               what its server runs with and no model here has, as 'LoRA': not compared with a prediction; null: nothing
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
-- lengths                  'own', or 'mean': a control whose requests all have the average lengths of its plan
-- spread_tick_s            requests of one tick of the trace's clock were spread over it, seconds; null: sent as they came
-- session_rate_per_s       sessions without a start of their own were started at random, so many per second; null: none was
-- seed                     of everything that was drawn
-- mode                     'open', 'sessions' or 'closed': in a closed loop from due is from sent
-- max_concurrency          closed: requests in flight; else a cap over the due times; null for none
-- history                  of a session's later turns: 'planned' or 'answered'
-- body                     fields that the user added to each request, as a JSON object; null for none
-- server_engine            the engine that the server was recognised as: 'vllm', 'sglang' or 'openai'; null where the run does not say
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
-- stop_reason              why it ended before its plan did; null: it did not, or it never ended
-- stopped_by               'server' (none was left), 'client', 'set-up' or 'user'
-- absences                 which of its servers went away and when, in words; null: none did
-- failed_ratio             share that failed or was not sent, of what was planned less what the user cancelled
-- failure_limit_ratio      as much was allowed: the SLO's failure_ratio of all classes, else --max-failures, else 1 %
-- has_failed               all failed, or more than was allowed, and not for the client or the set-up; where the SLO has a limit of its own,
--                          marts.slo judges by it, unless no server was left
-- shortfall                what failed, commonest kind first: '166 of 250 failed (155 timeout_first_byte, 11 not sent)'; null: nothing
-- window_s                 from the first due time to the last stream's end, seconds
-- request_per_s            completed requests per second of that window
-- prompt_token_per_s       prompt tokens of completed requests per second of it
-- output_token_per_s       received tokens of completed requests per second of it; null where the count of some is not known
-- steady_request_per_s     completed requests per second of its steady part (marts.steady_windows has the rule); null where it has none
-- steady_output_token_per_s  their received tokens per second of it
-- p50_ttft_s, p95_ttft_s, p99_ttft_s                               time to first token, from sent, seconds
-- p50_ttft_from_due_s, p95_ttft_from_due_s, p99_ttft_from_due_s    time to first token, from due, seconds
-- p50_tpot_s, p95_tpot_s, p99_tpot_s                               time per token after the first, seconds
-- p50_e2e_s, p95_e2e_s, p99_e2e_s                                  from sent to the last token, seconds
-- p50_lateness_s, p99_lateness_s, max_lateness_s                   sent after due, seconds: the client's fault
-- lateness_limit_s         p99 lateness above it makes the run invalid, seconds; null of a closed loop
-- kept_concurrency_ratio   of a closed loop: mean in flight over what was asked for, without its ramps; null where no slot was used twice
-- is_valid                 the run is whole, the client kept time and no more than 1 % of the requests beat the floor
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
        count(*) filter (where failure = 'cancelled') as cancelled,
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
        max(lateness_s) as max_lateness_s,
        count(*) filter (where lateness_s > 10e-3) as late,
        count(*) filter (where lateness_s > 10e-3 and connect_s >= lateness_s / 2) as late_by_connecting,
        max(connect_s) filter (where lateness_s > 10e-3) as longest_connect_s
    from staging.requests
    where not is_warm_up
    group by run_id
),

-- Warm-up counts here, because run.json counts it too.
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
        count(floor_tpot_s) as with_floor,
        case
            when count(floor_tpot_s) > 0
                then count(*) filter (where macros.is_below_floor(tpot_s, floor_tpot_s, decode_tokens, clients.lag_max_s))
        end as below_floor
    from marts.tpot_gap
    left join staging.clients on clients.run_id = tpot_gap.run_id
    group by tpot_gap.run_id
),

-- Requests that the user cancelled or left unsent did not fail.
due as (
    select
        runs.run_id,
        case when runs.stopped_by = 'user' then 0 else counts.planned - counts.completed - counts.failed end as unsent,
        counts.failed - counts.cancelled + unsent as spoilt,
        counts.completed + spoilt as requests
    from staging.runs
    inner join counts on counts.run_id = runs.run_id
),

kinds as (
    select
        run_id,
        string_agg(macros.count_text(requests) || ' ' || kind, ', ' order by requests desc, kind) as told
    from (
        select
            run_id,
            failure as kind,
            requests
        from marts.failures
        where failure <> 'cancelled'
        union all
        select
            run_id,
            'not sent',
            unsent
        from due
        where unsent > 0
    ) as each
    group by run_id
),

absences as (
    select
        run_id,
        string_agg(
            endpoint || ' was gone '
            || case
                when back_at_s is null then 'from ' || macros.duration_text(gone_at_s) || ' on'
                else 'between ' || macros.duration_text(gone_at_s) || ' and ' || macros.duration_text(back_at_s)
            end,
            '; ' order by gone_at_s
        ) as told
    from staging.absences
    group by run_id
),

own_limits as (
    select
        run_id,
        min(at_most) as at_most
    from staging.slo_objectives
    where metric = 'failure_ratio'
        and class is null
    group by run_id
),

failures as (
    select
        due.run_id,
        due.spoilt / nullif(due.requests, 0) as failed_ratio,
        coalesce(own_limits.at_most, runs.max_failures_ratio, 1e-2) as failure_limit_ratio,
        coalesce(runs.stopped_by = 'server', false) as is_by_server,
        coalesce(runs.has_ended and (failed_ratio > failure_limit_ratio or failed_ratio = 1 or is_by_server), false) as is_too_much,
        is_too_much and (own_limits.at_most is null or failed_ratio = 1 or is_by_server) as has_failed,
        macros.count_text(due.spoilt) || ' of ' || macros.count_text(due.requests) || ' failed (' || kinds.told || ')' as shortfall
    from due
    inner join staging.runs on runs.run_id = due.run_id
    left join own_limits on own_limits.run_id = due.run_id
    left join kinds on kinds.run_id = due.run_id
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
            when runs.stopped_by in ('client', 'set-up') then 'the run stopped by itself: ' || coalesce(runs.stop_reason, 'it does not say why')
            when runs.client_limit is not null then runs.client_limit
            -- Before failures, because nothing can be judged about a deployment that is not the one that was named.
            when gaps.below_floor > macros.most_below_floor(counts.completed)
                then macros.count_text(gaps.below_floor) || ' of ' || macros.counted(gaps.with_floor, 'request')
                    || case when gaps.below_floor = 1 then ' was' else ' were' end || ' faster than ' || runs.gpu || ' memory allows: '
                    || case
                        when gaps.below_floor <= gaps.with_floor / 2 then ''
                        when runs.environment_source = 'server' then 'this is not the deployment that the server names; '
                        else 'this is not the deployment you named; '
                    end
                    || 'check GPU, model, format, tensor parallel size'
            -- A client that stood still for about as long as a time-out may have missed answers that were there.
            when failures.is_too_much and runs.stopped_by is distinct from 'server' and clients.stall_s >= runs.shortest_timeout_s / 2
                then printf('the client itself stood still for %.3g s: requests may have failed of that', clients.stall_s)
            when failures.is_too_much then null
            when counts.planned is null and stored.sent > 0 then 'all of it was warm-up: nothing is left to measure'
            when coalesce(counts.sent, 0) = 0 and stored.sent > 0 then 'no request was sent after the warm-up'
            when coalesce(counts.sent, 0) = 0 then 'no request was sent'
            when counts.completed = 0 then 'no request succeeded, so nothing was measured'
            when not closed_loops.is_kept
                then printf(
                    'the closed loop kept %.4g of %d in flight, %.3g %%, and not 99 %%: the client filled free slots late (p99 ',
                    closed_loops.mean_in_flight, closed_loops.asked, closed_loops.kept_concurrency_ratio * 100
                ) || macros.duration_text(counts.lateness[2]) || ')' || macros.client_blame(clients, counts.lateness[2], runs.duration_s)
            when runs.mode <> 'closed' and counts.lateness[2] > coalesce(runs.max_lateness_s, 10e-3)
                then 'p99 lateness ' || macros.duration_text(counts.lateness[2])
                    || ' is above ' || macros.duration_text(coalesce(runs.max_lateness_s, 10e-3))
                    || case
                        -- replay/connecting.go says the same by the same rule.
                        when counts.late_by_connecting > counts.late / 2
                            then '; the server, or the way to it, took connections up to ' || macros.duration_text(counts.longest_connect_s)
                                || ' late: its queue of new connections was full, or packets were lost'
                        else macros.client_blame(clients, counts.lateness[2], runs.duration_s)
                    end
            when clients.lag_p99_s > coalesce(runs.max_lateness_s, 10e-3)
                then 'the client read late: p99 lag ' || macros.duration_text(clients.lag_p99_s)
                    || ' is above ' || macros.duration_text(coalesce(runs.max_lateness_s, 10e-3))
                    || macros.client_blame(clients, clients.lag_p99_s, runs.duration_s)
            when clients.stall_s > clients.max_stall_s
                then 'the client itself stood still for ' || macros.duration_text(clients.stall_s)
                    || ', more than ' || macros.duration_text(clients.max_stall_s)
                    || macros.client_blame(clients, clients.stall_s, runs.duration_s)
            when not runs.reported_valid then coalesce(runs.reported_reason, 'the engine says so')
        end as invalid_reason
    from staging.runs
    left join counts on counts.run_id = runs.run_id
    left join stored on stored.run_id = runs.run_id
    left join gaps on gaps.run_id = runs.run_id
    left join failures on failures.run_id = runs.run_id
    left join staging.clients on clients.run_id = runs.run_id
    left join marts.closed_loops on closed_loops.run_id = runs.run_id
)

select
    runs.run_id,
    runs.name,
    runs.note,
    runs.tidemark_version,
    runs.started_at,
    runs.ended_at,
    runs.status,
    runs.has_ended,
    case
        when runs.is_simulated then concat_ws(' ', runs.origin, coalesce(runs.simulates, 'server'))
        else concat_ws(
            ' ',
            coalesce(runs.engine, case when runs.server_version is not null then 'vllm' end, 'unknown server'),
            coalesce(runs.server_version, runs.engine_version),
            case when runs.gpu is not null then concat_ws(' ', 'on', runs.gpu, 'x' || coalesce(runs.tensor_parallel_size, 1) * greatest(coalesce(runs.deployment.data_parallel_size, 1), 1)) end
        )
    end || case when len(runs.endpoints) > 1 then ', ' || len(runs.endpoints) || ' servers' else '' end as measured_on,
    runs.is_simulated,
    runs.origin,
    runs.is_draft,
    runs.unmodelled,
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
    runs.lengths,
    runs.spread_tick_s,
    runs.session_rate_per_s,
    runs.seed,
    runs.mode,
    runs.max_concurrency,
    runs.history,
    runs.body,
    runs.server_engine,
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
    case when runs.has_ended then runs.stop_reason end as stop_reason,
    runs.stopped_by,
    absences.told as absences,
    failures.failed_ratio,
    failures.failure_limit_ratio,
    verdicts.invalid_reason is null and coalesce(failures.has_failed, false) as has_failed,
    failures.shortfall,
    counts.window_s,
    counts.completed / nullif(counts.window_s, 0) as request_per_s,
    coalesce(counts.input_tokens, 0) / nullif(counts.window_s, 0) as prompt_token_per_s,
    counts.received_tokens / nullif(counts.window_s, 0) as output_token_per_s,
    steady_windows.steady_request_per_s,
    steady_windows.steady_output_token_per_s,
    counts.ttft[1] as p50_ttft_s,
    counts.ttft[2] as p95_ttft_s,
    macros.p99_of(counts.ttft, counts.completed) as p99_ttft_s,
    counts.ttft_from_due[1] as p50_ttft_from_due_s,
    counts.ttft_from_due[2] as p95_ttft_from_due_s,
    macros.p99_of(counts.ttft_from_due, counts.completed) as p99_ttft_from_due_s,
    counts.tpot[1] as p50_tpot_s,
    counts.tpot[2] as p95_tpot_s,
    macros.p99_of(counts.tpot, counts.with_tpot) as p99_tpot_s,
    counts.e2e[1] as p50_e2e_s,
    counts.e2e[2] as p95_e2e_s,
    macros.p99_of(counts.e2e, counts.completed) as p99_e2e_s,
    counts.lateness[1] as p50_lateness_s,
    macros.p99_of(counts.lateness, counts.sent) as p99_lateness_s,
    counts.max_lateness_s,
    case when runs.mode <> 'closed' then runs.max_lateness_s end as lateness_limit_s,
    closed_loops.kept_concurrency_ratio,
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
left join failures on failures.run_id = runs.run_id
left join absences on absences.run_id = runs.run_id
left join gaps on gaps.run_id = runs.run_id
left join marts.closed_loops on closed_loops.run_id = runs.run_id
left join marts.steady_windows on steady_windows.run_id = runs.run_id
