-- One row per run on a shared server (marts.shared_servers), address that it sent to and time between two looks at the server's
-- /metrics: what decoded there, whoever had sent it, and what the model predicts for a step of it.
--
-- The batch is what runs, prompts that are computed included; contexts are the share of the KV cache in use times its size, so that a
-- prefix that several share is counted once. Gauges are those of the look that ends the time. Several engines behind one address
-- share the load evenly. Prompts are of the mean length of the run's time. Where two looks are more than 2.5 s apart, or something is
-- not exposed, everything that depends on it is null: nothing is made up. So is what counters say where several servers answer at an address
-- (marts.server_processes).
-- Kept per run with others.
-- group: server
-- run_id            the replay
-- endpoint          base url that the run sent to; '' where it had one only
-- begin_s           the look before, seconds since the run began
-- end_s             the look, likewise
-- batch             requests that run in one engine; one at least
-- context_tokens    sum of their contexts, tokens
-- prefill_tokens    prompt tokens computed in between in one engine, tokens
-- prompt_ratio      predicted: seconds of work on prompts per second
-- step_s            predicted: a step without prompts, seconds
-- weights_s         of it, streaming weights, seconds
-- experts_s         of it, experts and their routing, seconds
-- kv_s              of it, reading the KV cache and states of constant size, seconds
-- arithmetic_s      of it, what multiplying adds, seconds
-- layers_s          of it, the fixed time of the layers, seconds
-- allreduce_s       of it, all-reduces, seconds
-- host_s            of it, host time, seconds
with looks as (
    select
        samples.run_id,
        samples.url,
        samples.at_s,
        count(*) filter (where samples.quantity = 'running_requests') as engines,
        sum(samples.value) filter (where samples.quantity = 'running_requests') as running,
        avg(samples.value) filter (where samples.quantity = 'kv_used_ratio') as kv_used_ratio,
        sum(samples.value) filter (where samples.quantity = 'prompt_tokens') as prompt_tokens,
        coalesce(sum(samples.value) filter (where samples.quantity = 'prefix_hit_tokens'), 0) as cached_tokens,
        sum(samples.value) filter (where samples.quantity = 'finished_requests') as finished
    from staging.server_samples as samples
    inner join marts.shared_servers on shared_servers.run_id = samples.run_id and shared_servers.is_shared
    where samples.quantity in (
        'running_requests', 'kv_used_ratio', 'prompt_tokens', 'prefix_hit_tokens', 'finished_requests'
    )
    group by
        samples.run_id,
        samples.url,
        samples.at_s
),

grown as (
    select
        *,
        lag(at_s) over in_time as since_s,
        case when not coalesce(is_several, false) then macros.counter_growth(prompt_tokens, lag(prompt_tokens) over in_time) end as prompt_gain,
        case when not coalesce(is_several, false) then macros.counter_growth(cached_tokens, lag(cached_tokens) over in_time) end as cached_gain,
        case when not coalesce(is_several, false) then macros.counter_growth(finished, lag(finished) over in_time) end as finished_gain
    from looks
    left join marts.server_processes using (run_id, url)
    where engines > 0
    window in_time as (partition by run_id, url order by at_s)
),

prompts as (
    select
        *,
        case when prompt_gain is not null then greatest(prompt_gain - cached_gain, 0) end as computed_gain,
        (sum(prompt_gain) over of_server - sum(cached_gain) over of_server) / nullif(sum(finished_gain) over of_server, 0) as mean_tokens,
        sum(cached_gain) over of_server / nullif(sum(finished_gain) over of_server, 0) as mean_cached_tokens,
        count(distinct url) over (partition by run_id) as urls
    from grown
    window of_server as (partition by run_id, url)
),

addresses as (
    select distinct
        requests.run_id,
        coalesce(requests.endpoint, '') as endpoint,
        coalesce(requests.endpoint, runs.base_url, '') as address
    from staging.requests
    inner join marts.shared_servers on shared_servers.run_id = requests.run_id and shared_servers.is_shared
    inner join staging.runs on runs.run_id = requests.run_id
),

caches as (
    select
        run_id,
        max(try_cast(effective as double)) as tokens
    from staging.server_settings
    where setting = 'kv_cache_tokens'
    group by run_id
),

running as (
    select
        prompts.run_id,
        addresses.endpoint,
        prompts.since_s as begin_s,
        prompts.at_s as end_s,
        prompts.at_s - prompts.since_s as length_s,
        greatest(1, prompts.running / prompts.engines) as batch,
        case
            when prompts.at_s - prompts.since_s <= 2.5e0
                then prompts.kv_used_ratio * coalesce(caches.tokens, macros.kv_capacity_tokens(d))
        end as context_tokens,
        case
            when prompts.at_s - prompts.since_s <= 2.5e0
                then prompts.computed_gain / prompts.engines
        end as prefill_tokens,
        prompts.mean_tokens,
        prompts.mean_cached_tokens,
        d as deployment
    from prompts
    inner join addresses
        on addresses.run_id = prompts.run_id
        and (prompts.urls = 1 or starts_with(prompts.url, addresses.address || '/'))
    left join staging.deployments as d on d.run_id = prompts.run_id
    left join caches on caches.run_id = prompts.run_id
    where prompts.since_s is not null
),

windowed as (
    select
        *,
        least(context_tokens, batch * coalesce(deployment.window_tokens, context_tokens)) as windowed_tokens
    from running
)

select
    run_id,
    endpoint,
    begin_s,
    end_s,
    batch,
    context_tokens,
    prefill_tokens,
    case
        when prefill_tokens = 0 then 0
        else deployment.prefill_share * prefill_tokens / mean_tokens
            * macros.prompt_s(
                deployment, batch, greatest(mean_tokens, 1), mean_cached_tokens, kv_s := macros.kv_s(deployment, context_tokens, windowed_tokens)
            )
    end / length_s as prompt_ratio,
    case when context_tokens is not null then macros.decode_s(deployment, batch, context_tokens, windowed_tokens) end as step_s,
    macros.weights_s(deployment, batch) as weights_s,
    macros.experts_s(deployment, batch) as experts_s,
    macros.kv_s(deployment, context_tokens, windowed_tokens) + macros.state_s(deployment, batch) as kv_s,
    macros.arithmetic_s(deployment, batch, 0, 0) as arithmetic_s,
    macros.layers_s(deployment) as layers_s,
    macros.allreduce_s(deployment, batch) as allreduce_s,
    macros.host_s(deployment, batch) as host_s
from windowed
