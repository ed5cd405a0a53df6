-- One row per run, address of a server's metrics and second of the run: what the server reported about itself, and what the client sent to it
-- and got from it in the same second. This is what a monitoring page shows.
--
-- A counter's rate is over the time between two looks and is given to each second whose middle lies in that time. A counter that falls
-- started again with its server, so its whole value is growth; where several servers answer at the address (marts.server_processes), what counters
-- say is null. If two looks are more than 2.5 s apart everything is null: nothing is made up.
-- Gauges are those of the look that ends the time. What the server does not expose is null. Requests count in the second in which they were
-- sent or ended.
-- Kept per run.
-- group: server
-- run_id                        the replay
-- url                           address of the exposition; '' where the run does not say
-- second                        0-based: from so many seconds since the run began, one second long
-- running                       requests that the engine runs
-- queue_depth                   requests that wait in the engine
-- kv_usage_ratio                share of the KV cache in use, mean over engines: memory utilization as vLLM means it
-- max_kv_usage_ratio            of the engine whose cache is fullest: where several share the address, the first to run out of room
-- mean_batch_size               tokens generated per engine step; where steps are not counted, the requests running
-- p99_queue_above_s             time in the engine's queue, 99th percentile in the minute before the second's end: above this, the lower
--                               bound of the bucket of the server's histogram in which it lies (within a bucket nothing is known), seconds
-- p99_queue_up_to_s             and at most this: the bucket's upper bound, or the longest TTFT that the client saw in that minute where that is
--                               less and the server was its own, seconds; null in the last bucket, which has none
-- queued                        requests behind that percentile
-- prompt_token_per_s            prompt tokens computed or found in the cache per second
-- generation_token_per_s        tokens generated per second
-- cached_ratio                  prefix cache hits of the tokens looked up; null where none were
-- finished_per_s                requests that the engine finished per second
-- preemptions                   requests that lost their place in the engine between two looks, divided evenly among the seconds that share
--                               these looks, so that a sum over seconds counts each once
-- rejections                    requests that the engine refused, likewise; vLLM's own limit
-- sent                          requests that the client sent there in the second; null, as the next three, where the address is no server's
-- completed                     requests that ended well in it
-- failed                        requests that failed in it
-- requests_rejected             of these, answered with 429 or 503
-- gpus                          GPUs of a DCGM exporter; null where the address is none
-- sm_active_ratio               share of time that SMs had work, mean over them
-- dram_active_ratio             share of time that memory was read or written, mean over them
-- power_w                       power of all of them, watts
-- max_temperature_c             of the hottest, degrees Celsius
-- least_sm_clock_hz             of the slowest
-- most_sm_clock_hz              of the fastest: one GPU that throttles slows all that share its model
-- throttled_gpus                GPUs whose clock was held down for power, heat or the hardware
-- heat_throttled_gpus           of these, for heat
-- power_throttled_gpus          for power
-- hardware_throttled_gpus       by the hardware, which does not say why
with looks as (
    select
        run_id,
        url,
        at_s,
        lag(at_s) over (partition by run_id, url order by at_s) as since_s
    from (
        select distinct
            run_id,
            url,
            at_s
        from staging.samples
        where origin = 'server'
    ) as each
),

-- How much each series grew since the look before.
gains as (
    select
        run_id,
        url,
        at_s,
        quantity,
        part,
        labels,
        value,
        case
            when not coalesce(processes.is_several, false) then macros.counter_growth(value, coalesce(lag(value) over of_series, 0))
        end as gain,
        lag(at_s) over of_series as since_s
    from staging.server_samples
    left join marts.server_processes as processes using (run_id, url)
    window of_series as (partition by run_id, url, quantity, part, labels order by at_s)
),

spoken as (
    select
        run_id,
        url,
        at_s,
        sum(value) filter (where quantity = 'running_requests') as running,
        sum(value) filter (where quantity = 'waiting_requests') as queue_depth,
        avg(value) filter (where quantity = 'kv_used_ratio') as kv_usage_ratio,
        max(value) filter (where quantity = 'kv_used_ratio') as max_kv_usage_ratio,
        sum(gain) filter (where quantity = 'prompt_tokens') as prompt_tokens,
        sum(gain) filter (where quantity = 'generation_tokens') as generation_tokens,
        sum(gain) filter (where quantity = 'step_tokens' and part = 'count') as steps,
        sum(gain) filter (where quantity = 'prefix_queried_tokens') as cache_queries,
        sum(gain) filter (where quantity = 'prefix_hit_tokens') as cache_hits,
        sum(gain) filter (where quantity = 'finished_requests') as finished,
        sum(gain) filter (where quantity = 'preemptions') as preemptions,
        sum(gain) filter (where quantity = 'rejections') as rejections,
        nullif(count(distinct macros.gpu_labels(labels, false)) filter (where starts_with(quantity, 'gpu_')), 0) as gpus,
        avg(value) filter (where quantity = 'gpu_sm_active_ratio') as sm_active_ratio,
        avg(value) filter (where quantity = 'gpu_dram_active_ratio') as dram_active_ratio,
        sum(value) filter (where quantity = 'gpu_power_w') as power_w,
        max(value) filter (where quantity = 'gpu_temperature_c') as max_temperature_c,
        min(value) filter (where quantity = 'gpu_sm_clock_hz') as least_sm_clock_hz,
        max(value) filter (where quantity = 'gpu_sm_clock_hz') as most_sm_clock_hz,
        count(*) filter (where quantity = 'gpu_throttle_reasons' and macros.throttle_causes(value) <> []) as throttled_gpus,
        count(*) filter (where quantity = 'gpu_throttle_reasons' and list_contains(macros.throttle_causes(value), 'heat')) as heat_throttled_gpus,
        count(*) filter (where quantity = 'gpu_throttle_reasons' and list_contains(macros.throttle_causes(value), 'power')) as power_throttled_gpus,
        count(*) filter (where quantity = 'gpu_throttle_reasons' and list_contains(macros.throttle_causes(value), 'hardware')) as hardware_throttled_gpus
    from gains
    group by
        run_id,
        url,
        at_s
),

-- For each second, the look that ends the time in which the second's middle lies.
seconds as (
    select
        spans.run_id,
        spans.url,
        spans.second,
        looks.at_s,
        looks.at_s - looks.since_s as length_s,
        count(*) over (partition by spans.run_id, spans.url, looks.at_s) as sharing
    from (
        select
            run_id,
            url,
            unnest(range(0, ceil(max(at_s) - 0.5e0)::bigint)) as second
        from looks
        group by
            run_id,
            url
    ) as spans
    asof left join looks
        on looks.run_id = spans.run_id
        and looks.url = spans.url
        and looks.at_s >= spans.second + 0.5e0
),

-- A bucket's gain over the minute that ends with the look.
queue_buckets as (
    select
        run_id,
        url,
        at_s,
        try_cast(replace(regexp_extract(labels, 'le="([^"]*)"', 1), '+Inf', 'inf') as double) as upper_s,
        sum(sum(gain)) over (
            partition by run_id, url, try_cast(replace(regexp_extract(labels, 'le="([^"]*)"', 1), '+Inf', 'inf') as double)
            order by at_s range between 60 preceding and current row
        ) as at_most,
        at_s - min(min(since_s)) over (partition by run_id, url order by at_s range between 60 preceding and current row) as length_s
    from gains
    where quantity = 'queue_s'
        and part = 'bucket'
        and since_s is not null
    group by
        run_id,
        url,
        at_s,
        upper_s
),

queue_shares as (
    select
        *,
        max(at_most) over of_look as queued,
        coalesce(lag(at_most) over of_look_in_order, 0) as below,
        coalesce(lag(upper_s) over of_look_in_order, 0) as lower_s
    from queue_buckets
    window
        of_look as (partition by run_id, url, at_s),
        of_look_in_order as (partition by run_id, url, at_s order by upper_s)
),

-- The bucket of the 99th percentile is the first that reaches its rank.
queue_bounds as (
    select
        run_id,
        url,
        at_s,
        max(queued)::bigint as queued,
        max(length_s) as length_s,
        min(lower_s) filter (where at_most >= 0.99e0 * queued and at_most > below) as above_s,
        min(upper_s) filter (where at_most >= 0.99e0 * queued and at_most > below) as up_to_s
    from queue_shares
    group by
        run_id,
        url,
        at_s
),

-- No request waited longer in the engine than its client waited for the first token, or for the end. A few seconds are added to the minute,
-- because client and server see a request's end at slightly different times.
own_waits as (
    select
        run_id,
        second,
        max(max(wait_s)) over (partition by run_id order by second range between 66 preceding and current row) as longest_s
    from (
        select
            run_id,
            floor(coalesce(done_s, last_token_s, sent_s))::bigint as second,
            coalesce(first_token_s, done_s, sent_s) - sent_s as wait_s
        from staging.requests
        where is_sent
    ) as each
    group by
        run_id,
        second
),

queue_times as (
    select
        bounds.run_id,
        bounds.url,
        bounds.at_s,
        bounds.queued,
        bounds.above_s,
        case
            when waits.longest_s between bounds.above_s and bounds.up_to_s
                and bounds.length_s <= 64
                and not coalesce(servers.is_shared, false)
                then waits.longest_s
            when isfinite(bounds.up_to_s) then bounds.up_to_s
        end as up_to_s
    from queue_bounds as bounds
    asof left join own_waits as waits
        on waits.run_id = bounds.run_id
        and waits.second <= bounds.at_s + 1
    left join marts.shared_servers as servers on servers.run_id = bounds.run_id
),

addresses as (
    select
        run_id,
        url,
        count(*) over (partition by run_id) as urls
    from looks
    group by
        run_id,
        url
),

-- Requests by second. If a run has several addresses of metrics, each has the requests of the server whose url it starts with.
happened as (
    select
        run_id,
        endpoint,
        floor(at_s)::bigint as second,
        count(*) filter (where what = 'sent') as sent,
        count(*) filter (where what = 'ended' and is_success) as completed,
        count(*) filter (where what = 'ended' and failure is not null) as failed,
        count(*) filter (where what = 'ended' and http_status in (429, 503)) as requests_rejected
    from (
        select
            requests.run_id,
            coalesce(requests.endpoint, runs.base_url, '') as endpoint,
            requests.is_success,
            requests.failure,
            requests.http_status,
            unnest(['sent', 'ended']) as what,
            unnest([requests.sent_s, coalesce(requests.done_s, requests.last_token_s)]) as at_s
        from staging.requests
        inner join staging.runs on runs.run_id = requests.run_id
    ) as each
    where at_s is not null
    group by
        run_id,
        endpoint,
        second
),

client as (
    select
        addresses.run_id,
        addresses.url,
        happened.second,
        sum(happened.sent)::bigint as sent,
        sum(happened.completed)::bigint as completed,
        sum(happened.failed)::bigint as failed,
        sum(happened.requests_rejected)::bigint as requests_rejected
    from addresses
    inner join happened
        on happened.run_id = addresses.run_id
        and (addresses.urls = 1 or (happened.endpoint <> '' and starts_with(addresses.url, happened.endpoint || '/')))
    group by
        addresses.run_id,
        addresses.url,
        happened.second
),

servers as (
    select distinct
        run_id,
        url
    from client
)

select
    seconds.run_id,
    seconds.url,
    seconds.second,
    spoken.running,
    spoken.queue_depth,
    spoken.kv_usage_ratio,
    spoken.max_kv_usage_ratio,
    coalesce(spoken.generation_tokens / nullif(spoken.steps, 0), spoken.running) as mean_batch_size,
    queue_times.above_s as p99_queue_above_s,
    queue_times.up_to_s as p99_queue_up_to_s,
    queue_times.queued,
    spoken.prompt_tokens / seconds.length_s as prompt_token_per_s,
    spoken.generation_tokens / seconds.length_s as generation_token_per_s,
    -- SGLang counts no lookups: each prompt token is one.
    spoken.cache_hits / nullif(coalesce(spoken.cache_queries, spoken.prompt_tokens), 0) as cached_ratio,
    spoken.finished / seconds.length_s as finished_per_s,
    spoken.preemptions / seconds.sharing as preemptions,
    spoken.rejections / seconds.sharing as rejections,
    case when servers.url is not null then coalesce(client.sent, 0) end as sent,
    case when servers.url is not null then coalesce(client.completed, 0) end as completed,
    case when servers.url is not null then coalesce(client.failed, 0) end as failed,
    case when servers.url is not null then coalesce(client.requests_rejected, 0) end as requests_rejected,
    spoken.gpus,
    spoken.sm_active_ratio,
    spoken.dram_active_ratio,
    spoken.power_w,
    spoken.max_temperature_c,
    spoken.least_sm_clock_hz,
    spoken.most_sm_clock_hz,
    case when spoken.gpus > 0 then spoken.throttled_gpus end as throttled_gpus,
    case when spoken.gpus > 0 then spoken.heat_throttled_gpus end as heat_throttled_gpus,
    case when spoken.gpus > 0 then spoken.power_throttled_gpus end as power_throttled_gpus,
    case when spoken.gpus > 0 then spoken.hardware_throttled_gpus end as hardware_throttled_gpus
from seconds
left join spoken
    on spoken.run_id = seconds.run_id
    and spoken.url = seconds.url
    and spoken.at_s = seconds.at_s
    and seconds.length_s <= 2.5e0
left join queue_times
    on queue_times.run_id = seconds.run_id
    and queue_times.url = seconds.url
    and queue_times.at_s = seconds.at_s
    and seconds.length_s <= 2.5e0
left join client
    on client.run_id = seconds.run_id
    and client.url = seconds.url
    and client.second = seconds.second
left join servers on servers.run_id = seconds.run_id and servers.url = seconds.url
