-- One row per step that a run's engines made while it lasted, of each rank. Dummy steps are left out.
--
-- A log's stamps may be whole seconds: the steps of a second are then spread over it evenly. A log says nothing of contexts: they are those of
-- the run's own requests, prompt and tokens received by then, for as many requests as decode in the step; null where a twentieth of the prompt
-- tokens or more was of others.
-- Kept per run with steps.
-- group: server
-- run_id                   the replay
-- source_id                where the step is from
-- engine                   worker, as the source calls it; '' where it is of one server
-- rank                     data-parallel rank
-- seq                      number that the engine gave it
-- at_s                     when it ended, seconds since the run began
-- offset_s                 when the run began, seconds since its source did
-- second                   whole second of the source in which it ended
-- elapsed_s                how long it took, as the engine says, seconds
-- clock                    what elapsed_s is: 'gpu'; 'submit': the wait for a step, because the log says that scheduling is asynchronous or the median
--                          decode step is below its floor; 'unknown'
-- has_fine_times           instants have fractions of a second
-- is_by_api_server         the instants are those of an API server, after it sent the step's tokens
-- is_sampled               the source has one step in many
-- kind                     'decode', 'prefill', or 'mixed'
-- prefill_requests         requests of which prompt tokens were computed
-- prefill_tokens           these tokens
-- prefill_kv_tokens        tokens of the same prompts that were in the KV cache before; null: not said
-- decode_requests          requests that decoded
-- decode_tokens            tokens computed for them: with drafts more than one each
-- decode_kv_tokens         sum of their contexts, tokens
-- decode_windowed_tokens   the same with the mean context cut at the model's window
-- is_kv_from_requests      contexts are those of the run's requests
-- queued_requests          requests that waited; null: not said
-- kv_usage_ratio           share of the KV cache in use; null: not said
with own as (
    select
        joins.run_id,
        joins.offset_s,
        joins.foreign_ratio,
        kept.is_by_api_server,
        kept.is_async,
        kept.is_sampled,
        steps.*,
        steps.at_ns // 1000000000 as second,
        max(steps.at_ns % 1000000000) over (partition by joins.run_id, joins.source_id) > 0 as has_fine_times
    from raw.step_joins as joins
    inner join raw.steps
        on steps.source_id = joins.source_id
        and steps.at_ns between (joins.offset_s + joins.begin_s) * 1e9 and (joins.offset_s + joins.end_s) * 1e9
    inner join raw.step_sources as kept on kept.source_id = joins.source_id
    where not steps.is_dummy
),

timed as (
    select
        *,
        case
            when has_fine_times then at_ns / 1e9
            else second + (row_number() over in_second - 0.5e0) / count(*) over of_second
        end - offset_s as at_s
    from own
    window
        of_second as (partition by run_id, source_id, engine, rank, second),
        in_second as (partition by run_id, source_id, engine, rank, second order by seq)
),

-- A request's context is a line over time while it decodes: offset + token_per_s * t.
lines as (
    select
        run_id,
        first_token_s,
        last_token_s,
        coalesce(received_tokens - 1, 0) / (last_token_s - first_token_s) as token_per_s,
        coalesce(input_tokens_reported, input_tokens) + 0.5e0 - token_per_s * first_token_s as offset_tokens
    from staging.requests
    where last_token_s > first_token_s
),

contexts as (
    select
        run_id,
        at_s,
        sum(sum(change)) over in_time as requests,
        sum(sum(change * offset_tokens)) over in_time as offset_tokens,
        sum(sum(change * token_per_s)) over in_time as token_per_s
    from (
        select
            run_id,
            offset_tokens,
            token_per_s,
            unnest([first_token_s, last_token_s]) as at_s,
            unnest([1, -1]) as change
        from lines
    ) as changes
    group by
        run_id,
        at_s
    window in_time as (partition by run_id order by at_s)
),

prompts as (
    select
        run_id,
        avg(coalesce(input_tokens_reported, input_tokens)) as input_tokens
    from staging.requests
    where first_token_s is not null
    group by run_id
),

-- While the client has no first token it knows the prompts alone.
filled as (
    select
        timed.*,
        case
            when timed.foreign_ratio > 0.05e0 then null
            when contexts.requests > 0 then (contexts.offset_tokens + contexts.token_per_s * timed.at_s) / contexts.requests
            else prompts.input_tokens
        end as mean_context
    from timed
    left join prompts on prompts.run_id = timed.run_id
    asof left join contexts
        on contexts.run_id = timed.run_id
        and contexts.at_s <= timed.at_s
),

weighed as (
    select
        filled.*,
        coalesce(filled.decode_kv_tokens, filled.decode_requests * filled.mean_context) as context_tokens,
        least(context_tokens, filled.decode_requests * coalesce(d.window_tokens, context_tokens)) as windowed_tokens,
        macros.floor_s(d, coalesce(context_tokens, 0), coalesce(windowed_tokens, 0)) as floor_s
    from filled
    left join staging.deployments as d on d.run_id = filled.run_id
),

clocks as (
    select
        run_id,
        source_id,
        case
            when bool_or(is_async) or median(elapsed_s) < median(floor_s) then 'submit'
            when median(elapsed_s) >= median(floor_s) then 'gpu'
            else 'unknown'
        end as clock
    from weighed
    where decode_requests > 0
        and prefill_requests = 0
    group by
        run_id,
        source_id
)

select
    weighed.run_id,
    weighed.source_id,
    weighed.engine,
    weighed.rank,
    weighed.seq,
    weighed.at_s,
    weighed.offset_s,
    weighed.second,
    weighed.elapsed_s,
    coalesce(clocks.clock, 'unknown') as clock,
    weighed.has_fine_times,
    weighed.is_by_api_server,
    weighed.is_sampled,
    case
        when weighed.prefill_requests = 0 then 'decode'
        when weighed.decode_requests = 0 then 'prefill'
        else 'mixed'
    end as kind,
    weighed.prefill_requests,
    weighed.prefill_tokens,
    weighed.prefill_kv_tokens,
    weighed.decode_requests,
    weighed.decode_tokens,
    weighed.context_tokens::double as decode_kv_tokens,
    weighed.windowed_tokens::double as decode_windowed_tokens,
    weighed.decode_kv_tokens is null and weighed.context_tokens is not null as is_kv_from_requests,
    weighed.queued_requests,
    weighed.kv_usage_ratio
from weighed
left join clocks on clocks.run_id = weighed.run_id and clocks.source_id = weighed.source_id
