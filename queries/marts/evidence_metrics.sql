-- One row per file of a server's or of GPUs' metrics and figure that a diagnosis looks at. GPUs are compared only while they work, second by
-- second, and only with GPUs of the same memory clock: others are of another kind.
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

kinds as (
    select
        source_name,
        gpu,
        max(memory_clock_hz) as memory_clock_hz
    from marts.gpu_timeline
    group by
        source_name,
        gpu
),

seconds as (
    select
        looks.source_name,
        kinds.memory_clock_hz,
        looks.at_s,
        list(distinct looks.gpu) as gpus,
        min(looks.sm_clock_hz) / nullif(max(looks.sm_clock_hz), 0) as slowest_clock_ratio,
        max(looks.temperature_c) as max_temperature_c,
        avg(looks.dram_active_ratio) as dram_active_ratio,
        case when count(looks.throttle_causes) > 0 then flatten(list(looks.throttle_causes)) end as throttle_causes
    from marts.gpu_timeline as looks
    inner join kinds
        on kinds.source_name = looks.source_name
        and kinds.gpu = looks.gpu
    where coalesce(looks.busy_ratio >= 0.5e0, true)
    group by
        looks.source_name,
        kinds.memory_clock_hz,
        looks.at_s
),

cards as (
    select
        source_name,
        len(list_distinct(flatten(list(seconds.gpus)))) as gpus,
        -- Of the worst tenth of the seconds: a GPU that grows hot in the last third of a file is not in its median.
        quantile_cont(slowest_clock_ratio, 0.1) as slowest_clock_ratio,
        max(max_temperature_c) as max_temperature_c,
        avg(dram_active_ratio) as dram_active_ratio,
        avg((throttle_causes <> [])::integer) as throttled_ratio,
        nullif(avg(list_contains(throttle_causes, 'heat')::integer), 0) as heat_throttled_ratio,
        nullif(avg(list_contains(throttle_causes, 'power')::integer), 0) as power_throttled_ratio,
        nullif(avg(list_contains(throttle_causes, 'hardware')::integer), 0) as hardware_throttled_ratio
    from seconds
    group by
        source_name,
        memory_clock_hz
    qualify row_number() over (partition by source_name order by len(list_distinct(flatten(list(seconds.gpus)))) desc, memory_clock_hz desc) = 1
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
        {'figure': 'max_temperature_c', 'value': cards.max_temperature_c},
        {'figure': 'dram_active_ratio', 'value': cards.dram_active_ratio},
        {'figure': 'throttled_ratio', 'value': cards.throttled_ratio},
        {'figure': 'heat_throttled_ratio', 'value': cards.heat_throttled_ratio},
        {'figure': 'power_throttled_ratio', 'value': cards.power_throttled_ratio},
        {'figure': 'hardware_throttled_ratio', 'value': cards.hardware_throttled_ratio}
    ]), recursive := true)
from engines
full join cards on cards.source_name = engines.source_name
