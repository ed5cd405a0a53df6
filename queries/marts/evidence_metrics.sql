-- One row per file of a server's or of GPUs' metrics and figure that a diagnosis looks at. GPUs are compared only while they work, and only
-- with GPUs of the same memory clock: others are of another kind.
-- staging.evidence_figures says what each figure is.
-- group: diagnosis
-- source_name   the file
-- figure        name of the figure
-- value         in its unit
with engines as (
    select
        source_name,
        max(max_kv_used_ratio) as kv_usage_max_ratio,
        sum(preemptions) as preemptions,
        avg(waiting_requests) as queue_depth,
        max(waiting_requests) as max_queue_depth,
        avg((waiting_requests >= 1)::integer) as queued_ratio,
        avg(running_requests) filter (where waiting_requests >= 1) as running_while_queued
    from marts.engine_timeline
    group by source_name
),

clocks as (
    select
        source_name,
        gpu,
        median(sm_clock_hz) as sm_clock_hz,
        max(memory_clock_hz) as memory_clock_hz,
        max(temperature_c) as temperature_c
    from marts.gpu_timeline
    where coalesce(busy_ratio >= 0.5e0, true)
    group by
        source_name,
        gpu
),

cards as (
    select
        source_name,
        count(*) as gpus,
        min(sm_clock_hz) / nullif(max(sm_clock_hz), 0) as slowest_clock_ratio,
        max(temperature_c) as max_temperature_c
    from clocks
    group by
        source_name,
        memory_clock_hz
    qualify row_number() over (partition by source_name order by count(*) desc, memory_clock_hz desc) = 1
)

select
    coalesce(engines.source_name, cards.source_name) as source_name,
    unnest(macros.known_figures([
        {'figure': 'kv_usage_max_ratio', 'value': engines.kv_usage_max_ratio},
        {'figure': 'preemptions', 'value': engines.preemptions},
        {'figure': 'queue_depth', 'value': engines.queue_depth},
        {'figure': 'max_queue_depth', 'value': engines.max_queue_depth},
        {'figure': 'queued_ratio', 'value': engines.queued_ratio},
        {'figure': 'running_while_queued', 'value': engines.running_while_queued},
        {'figure': 'gpus', 'value': cards.gpus},
        {'figure': 'slowest_clock_ratio', 'value': cards.slowest_clock_ratio},
        {'figure': 'max_temperature_c', 'value': cards.max_temperature_c}
    ]), recursive := true)
from engines
full join cards on cards.source_name = engines.source_name
