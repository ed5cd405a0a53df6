-- One row per run and figure of its engine's steps that a diagnosis looks at. staging.evidence_figures says what each figure is.
--
-- Steps by the lines of an API server that sends many tokens tell of this server, not of the engine: above 5,000 tokens a second they say nothing of
-- CUDA graphs and ranks.
-- Kept per run with steps.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with steps as (
    select
        *,
        not is_by_api_server or decode_requests < 5e3 * predicted_step_s as is_of_engine -- not by the measured step: that would choose the slow ones
    from marts.step_gap
),

means as (
    select
        run_id,
        sum(steps)::double as steps,
        bool_or(is_by_api_server)::integer as is_by_api_server,
        sum(busy_s) / sum(steps) as mean_s,
        sum(steps * decode_requests) / sum(busy_s) as token_per_s,
        -- Of a token, and not of a step: weighted by the requests that decode.
        case
            when not bool_or(is_by_api_server or measured_by = 'counts')
                then sum(busy_s * decode_requests) / nullif(sum(steps * decode_requests), 0)
        end as engine_token_s,
        sum(steps * step_s) filter (where kind = 'decode' and predicted_step_s is not null)
        / nullif(sum(steps * predicted_step_s) filter (where kind = 'decode' and step_s is not null), 0) as decode_step_ratio,
        sum(steps * decode_requests * case when measured_by = 'elapsed' then step_s else gpu_s end) / nullif(sum(steps * decode_requests), 0) as gpu_token_s
    from steps
    group by run_id
),

idle as (
    select
        run_id,
        sum(time_ratio) as idle_ratio
    from marts.step_kinds
    where kind = 'idle'
    group by run_id
),

contexts as (
    select
        run_id,
        ratio,
        (measured_s - 2 * error_s) / model_s as least_ratio
    from marts.step_terms
    where term = 'context'
),

-- What steps that decode alone take beyond their prediction, by bucket of the batch.
buckets as (
    select
        run_id,
        ceil(log2(decode_requests)) as bucket,
        count(*) as rows,
        median(step_s - predicted_step_s) as beyond_s,
        median(predicted_step_s) as predicted_s
    from steps
    where kind = 'decode'
        and step_s is not null
        and is_of_engine
    group by
        run_id,
        bucket
),

jumps as (
    select
        run_id,
        max(jump_ratio) as jump_ratio,
        pow(2, arg_max(bucket, jump_ratio)) as above_batch
    from (
        select
            run_id,
            lag(bucket) over in_size as bucket,
            (beyond_s - lag(beyond_s) over in_size) / predicted_s as jump_ratio
        from buckets
        where rows >= 5
        window in_size as (partition by run_id order by bucket)
    ) as each
    group by run_id
),

ranks as (
    select
        run_id,
        engine,
        rank,
        median(slowdown_ratio) as slowdown_ratio,
        sum(steps) as steps
    from steps
    where kind = 'decode'
        and is_of_engine
        and slowdown_ratio is not null
    group by
        run_id,
        engine,
        rank
),

slowest as (
    select
        run_id,
        max(slowdown_ratio) / median(slowdown_ratio) as slowest_ratio,
        count(*) as ranks
    from ranks
    where steps >= 100
    group by run_id
    having count(*) > 1
)

select
    means.run_id,
    unnest(macros.known_figures([
        {'figure': 'engine_steps', 'value': means.steps},
        {'figure': 'steps_by_api_server', 'value': means.is_by_api_server::double},
        {'figure': 'step_mean_s', 'value': means.mean_s},
        {'figure': 'step_token_per_s', 'value': means.token_per_s},
        {'figure': 'step_idle_ratio', 'value': idle.idle_ratio},
        {'figure': 'decode_step_ratio', 'value': means.decode_step_ratio},
        {'figure': 'engine_token_s', 'value': means.engine_token_s},
        {'figure': 'gpu_token_s', 'value': means.gpu_token_s},
        {'figure': 'context_slope_ratio', 'value': contexts.ratio},
        {'figure': 'least_context_slope_ratio', 'value': contexts.least_ratio},
        {'figure': 'graph_jump_ratio', 'value': jumps.jump_ratio},
        {'figure': 'graph_jump_batch', 'value': jumps.above_batch},
        {'figure': 'slowest_rank_ratio', 'value': slowest.slowest_ratio}
    ]), recursive := true)
from means
left join idle on idle.run_id = means.run_id
left join contexts on contexts.run_id = means.run_id
left join jumps on jumps.run_id = means.run_id
left join slowest on slowest.run_id = means.run_id
