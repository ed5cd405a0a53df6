-- Engine steps of a run compared with what memory allows and what the model predicts: measured, floor, prediction and its terms.
--
-- One row per step where the engine's clock is the GPU's, or instants have fractions of a second. A log with the submit clock and whole seconds tells
-- how many steps a second had: there it is one row per rank, second, and number of requests that decoded and prompt tokens that were computed;
-- step_s is known where all steps of a second are alike, the seconds before and behind have steps too, and the run had requests in flight all the
-- time. busy_s is then the second, and those without a step before it, as far as requests were in flight, shared out to its rows as the
-- prediction says.
-- Of ranks that step together the slowest decides. Terms are those of macros.engine_step_s, which takes their sum, or the host's
-- time beside the GPU where that is longer; gpu_s is all of them but host_s. A sampled source has rows
-- where its clock is the GPU's, and says nothing of the time between steps.
-- Kept per run with steps.
-- group: tpot
-- run_id               the replay
-- source_id            where the steps are from
-- engine               worker, as the source calls it
-- rank                 data-parallel rank
-- seq                  number of the step, or of the first
-- at_s                 when it ended, or the last, seconds since the run began
-- second               whole second of the source in which it ended
-- measured_by          'elapsed': the engine's clock; 'instants': from the end of the step before; 'counts': steps of a second
-- is_by_api_server     the instants are those of an API server, after it sent the step's tokens
-- kind                 'decode', 'prefill', or 'mixed'
-- steps                how many
-- decode_requests      requests that decode in one
-- prefill_requests     requests of which prompt tokens are computed in one
-- prefill_tokens       these tokens
-- decode_kv_tokens     sum of the contexts, tokens, mean
-- step_s               measured time of one, seconds; null: not known
-- floor_step_s         predicted: step bytes over peak bandwidth, seconds; null without a known deployment or contexts, as are all that follow
-- predicted_step_s     predicted time of one, seconds
-- slowdown_ratio       step_s / predicted_step_s
-- gpu_s                predicted: the terms of the GPU alone, seconds
-- weights_s            term: streaming all weights but the experts, seconds
-- experts_s            term: experts and their routing, seconds
-- kv_s                 term: reading the KV cache, and states of constant size, seconds
-- arithmetic_s         term: what multiplying adds, seconds
-- prompts_s            term: attention of prompts, and the fixed time of each, seconds
-- layers_s             term: fixed time of the layers, seconds
-- allreduce_s          term: all-reduces between GPUs, seconds
-- host_s               term: scheduling and sampling, seconds
-- busy_s               time with requests in flight that goes to the row: its steps and the time before them, seconds; null for a sample
-- idle_s               of it, when the GPU waited: gaps by the engine's clock, and otherwise busy_s less steps * gpu_s; below 0 where the prediction is too slow
with ways as (
    select
        *,
        case
            when clock = 'gpu' then 'elapsed'
            when is_sampled then null
            when has_fine_times then 'instants'
            else 'counts'
        end as measured_by
    from staging.run_steps
),

-- Ranks step together if steps of one number end within half of one.
timed as (
    select
        *,
        case
            when max(at_s) over of_step - min(at_s) over of_step < 0.5e0 * min(elapsed_s) over of_step then max(elapsed_s) over of_step
            else elapsed_s
        end as slowest_s,
        at_s - lag(at_s) over in_rank as since_s
    from ways
    where measured_by is not null
    window
        of_step as (partition by run_id, source_id, engine, seq),
        in_rank as (partition by run_id, source_id, engine, rank order by at_s)
),

rows_of_steps as (
    select
        run_id,
        source_id,
        engine,
        rank,
        measured_by,
        kind,
        decode_requests,
        prefill_requests,
        prefill_tokens,
        offset_s,
        second,
        case when measured_by = 'counts' then second else at_s end as place,
        any_value(is_by_api_server) as is_by_api_server,
        min(seq) as seq,
        max(at_s) as at_s,
        count(*) as steps,
        avg(decode_tokens) as decode_tokens,
        avg(decode_kv_tokens) as decode_kv_tokens,
        avg(decode_windowed_tokens) as decode_windowed_tokens,
        avg(coalesce(prefill_kv_tokens, 0)) as prefill_kv_tokens,
        -- What decodes was running before: the time since the step before was not for want of work.
        case when any_value(measured_by) = 'elapsed' then any_value(slowest_s) else any_value(case when decode_requests > 0 then since_s end) end as step_s,
        case
            when any_value(measured_by) = 'elapsed' and not any_value(is_sampled)
                then any_value(case when decode_requests > 0 or queued_requests > 0 then greatest(0, since_s - slowest_s) else 0 end)
        end as gap_s
    from timed
    group by all
),

costs as (
    select
        rows_of_steps.*,
        macros.floor_s(d, decode_kv_tokens, decode_windowed_tokens) as floor_step_s,
        macros.engine_step_s(d, decode_tokens, decode_kv_tokens, decode_windowed_tokens, prefill_tokens, prefill_requests, pairs) as predicted_step_s,
        macros.weights_s(d, decode_tokens + prefill_tokens) as weights_s,
        macros.experts_beside_s(d, decode_tokens, prefill_tokens) as experts_s,
        macros.kv_s(d, decode_kv_tokens, decode_windowed_tokens) + macros.state_s(d, decode_tokens) as kv_s,
        macros.arithmetic_s(d, decode_tokens, prefill_tokens, prefill_requests) as arithmetic_s,
        macros.prefill_attention_s(d, prefill_tokens, pairs) + prefill_requests * d.chunk_s as prompts_s,
        macros.layers_s(d) as layers_s,
        macros.allreduce_s(d, decode_tokens + prefill_tokens) as allreduce_s,
        macros.host_s(d, decode_tokens) as host_s
    from (
        select
            *,
            -- The chunks are taken to be of one size.
            coalesce(prefill_requests * macros.prefill_pairs(
                prefill_tokens / nullif(prefill_requests, 0), prefill_kv_tokens / nullif(prefill_requests, 0)
            ), 0) as pairs
        from rows_of_steps
    ) as rows_of_steps
    left join staging.deployments as d on d.run_id = rows_of_steps.run_id
),

priced as (
    select
        *,
        weights_s + experts_s + kv_s + arithmetic_s + prompts_s + layers_s + allreduce_s as gpu_s
    from costs
),

-- When the run had requests in flight: of each instant at which one was sent or ended, how long that had been so before it.
flights as (
    select
        run_id,
        at_s,
        in_flight,
        sum(case when before > 0 then at_s - since_s else 0 end) over (partition by run_id order by at_s) as busy_before_s
    from (
        select
            run_id,
            at_s,
            in_flight,
            lag(in_flight, 1, 0) over in_time as before,
            lag(at_s) over in_time as since_s
        from (
            select
                run_id,
                at_s,
                sum(sum(change)) over (partition by run_id order by at_s) as in_flight
            from (
                select
                    run_id,
                    unnest([sent_s, coalesce(done_s, last_token_s, sent_s)]) as at_s,
                    unnest([1, -1]) as change
                from staging.requests
                where is_sent
            ) as changes
            group by
                run_id,
                at_s
        ) as instants
        window in_time as (partition by run_id order by at_s)
    ) as stretches
),

seconds as (
    select
        run_id,
        source_id,
        engine,
        rank,
        place,
        any_value(offset_s) as offset_s,
        sum(steps) as steps,
        count(*) as kinds,
        sum(steps * gpu_s) as gpu_s,
        coalesce(lag(place) over in_rank + 1, place) as since_place,
        since_place = place and lag(place) over in_rank is not null and lead(place) over in_rank = place + 1 as is_inside
    from priced
    where measured_by = 'counts'
    group by
        run_id,
        source_id,
        engine,
        rank,
        place
    window in_rank as (partition by run_id, source_id, engine, rank order by place)
),

edges as (
    select
        run_id,
        source_id,
        engine,
        rank,
        place,
        unnest([since_place - offset_s, place + 1 - offset_s]) as at_s,
        unnest([-1, 1]) as sign
    from seconds
),

busy as (
    select
        edges.run_id,
        edges.source_id,
        edges.engine,
        edges.rank,
        edges.place,
        sum(sign * coalesce(flights.busy_before_s + case when flights.in_flight > 0 then edges.at_s - flights.at_s else 0 end, 0)) as busy_s
    from edges
    asof left join flights
        on flights.run_id = edges.run_id
        and flights.at_s <= edges.at_s
    group by
        edges.run_id,
        edges.source_id,
        edges.engine,
        edges.rank,
        edges.place
),

counted as (
    select
        priced.* exclude (step_s),
        case
            when priced.measured_by <> 'counts' then priced.step_s
            when seconds.kinds = 1 and seconds.is_inside and busy.busy_s > 0.99e0 then 1e0 / seconds.steps
        end as step_s,
        case priced.measured_by
            when 'elapsed' then priced.step_s + priced.gap_s
            when 'instants' then priced.step_s
            else busy.busy_s * coalesce(priced.steps * priced.gpu_s / seconds.gpu_s, priced.steps / seconds.steps)
        end as busy_s
    from priced
    left join seconds using (run_id, source_id, engine, rank, place)
    left join busy using (run_id, source_id, engine, rank, place)
)

select
    run_id,
    source_id,
    engine,
    rank,
    seq,
    at_s,
    second,
    measured_by,
    is_by_api_server,
    kind,
    steps,
    decode_requests,
    prefill_requests,
    prefill_tokens,
    decode_kv_tokens,
    step_s,
    floor_step_s,
    predicted_step_s,
    step_s / predicted_step_s as slowdown_ratio,
    gpu_s,
    weights_s,
    experts_s,
    kv_s,
    arithmetic_s,
    prompts_s,
    layers_s,
    allreduce_s,
    host_s,
    busy_s,
    case when measured_by = 'elapsed' then gap_s else busy_s - steps * gpu_s end as idle_s
from counted
