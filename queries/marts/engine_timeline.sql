-- One row per look at a server: what it had in flight, and what it did since the look before. Engines of one look
-- are added up.
-- group: server
-- source_name           the file
-- target                which server; '' where the file does not say
-- look                  orders the looks: nanoseconds, or their number where the file has no times
-- at_s                  seconds since the first look or the file's own zero; null without times
-- running_requests      in a batch
-- waiting_requests      queued
-- kv_used_ratio         share of the KV cache that is in use, mean over engines; 1 is full
-- max_kv_used_ratio     of the engine whose cache is fullest
-- prompt_tokens         computed since the look before
-- generation_tokens     made since the look before
-- finished_requests     ended since the look before, however
-- preemptions           since the look before
-- interval_s            since the look before; null without times
with said as (
    select
        metrics.source_id,
        metrics.source_name,
        metrics.target,
        metrics.look,
        metrics.at_s,
        metrics.engine,
        metrics.quantity,
        metrics.base_value,
        metrics.base_value / metric_series.repeats as share_value
    from staging.metrics
    inner join staging.metric_series
        on metric_series.source_id = metrics.source_id
        and metric_series.name = metrics.name
        and metric_series.labels = metrics.labels
    where metrics.quantity in ('running_requests', 'waiting_requests', 'kv_used_ratio')
    -- vLLM 0.9 and 0.10 say the KV cache's use under two names.
    qualify metrics.priority = min(metrics.priority) over (partition by metrics.source_id, metrics.target, metrics.look, metrics.quantity)
),

engines as (
    select
        source_id,
        source_name,
        target,
        look,
        engine,
        any_value(at_s) as at_s,
        sum(share_value) filter (where quantity = 'running_requests') as running_requests,
        sum(share_value) filter (where quantity = 'waiting_requests') as waiting_requests,
        max(base_value) filter (where quantity = 'kv_used_ratio') as kv_used_ratio
    from said
    group by all
),

gauges as (
    select
        source_id,
        source_name,
        target,
        look,
        any_value(at_s) as at_s,
        sum(running_requests) as running_requests,
        sum(waiting_requests) as waiting_requests,
        avg(kv_used_ratio) as kv_used_ratio,
        max(kv_used_ratio) as max_kv_used_ratio
    from engines
    group by
        source_id,
        source_name,
        target,
        look
),

grown as (
    select
        metric_intervals.source_id,
        metric_intervals.target,
        metric_looks.look,
        any_value(metric_intervals.until_s - metric_intervals.from_s) as interval_s,
        sum(metric_intervals.increase) filter (where metric_intervals.quantity = 'prompt_tokens') as prompt_tokens,
        sum(metric_intervals.increase) filter (where metric_intervals.quantity = 'generation_tokens') as generation_tokens,
        sum(metric_intervals.increase) filter (where metric_intervals.quantity = 'finished_requests') as finished_requests,
        sum(metric_intervals.increase) filter (where metric_intervals.quantity = 'preemptions') as preemptions
    from staging.metric_intervals
    inner join staging.metric_looks
        on metric_looks.source_id = metric_intervals.source_id
        and metric_looks.history = metric_intervals.history
        and metric_looks.place = metric_intervals.place
    where metric_intervals.quantity in ('prompt_tokens', 'generation_tokens', 'finished_requests', 'preemptions')
        and metric_intervals.part = 'value'
        and not metric_intervals.is_first
    group by all
)

select
    gauges.source_name,
    gauges.target,
    gauges.look,
    gauges.at_s,
    gauges.running_requests,
    gauges.waiting_requests,
    gauges.kv_used_ratio,
    gauges.max_kv_used_ratio,
    grown.prompt_tokens,
    grown.generation_tokens,
    grown.finished_requests,
    grown.preemptions,
    grown.interval_s
from gauges
left join grown
    on grown.source_id = gauges.source_id
    and grown.target = gauges.target
    and grown.look = gauges.look
