-- One row per file and GPU: its power, and the clock at which it ran while it worked. Runs at different clocks are not runs on the same
-- hardware.
-- group: server
-- source_name                the file
-- gpu                        its UUID, else its host and number
-- seconds                    seconds with a look
-- exporters                  addresses that it was seen through
-- busy_seconds               of these, with a kernel in at least half of the time
-- mean_power_w               W
-- max_power_w                of a second, W
-- busy_sm_clock_hz           median clock of its multiprocessors while busy, Hz; null where it never was, or no clock is said
-- lowest_busy_sm_clock_hz    lowest of these seconds
-- max_memory_used_bytes      most memory in use
-- is_slower                  it ran more than 3 % below the fastest GPU in the warehouse with the same memory clock: held back, or set lower
with spans as (
    select
        source_name,
        gpu,
        count(*) as seconds,
        max(exporters) as exporters,
        count(*) filter (where busy_ratio >= 0.5e0) as busy_seconds,
        avg(power_w) as mean_power_w,
        max(power_w) as max_power_w,
        median(sm_clock_hz) filter (where busy_ratio >= 0.5e0) as busy_sm_clock_hz,
        min(sm_clock_hz) filter (where busy_ratio >= 0.5e0) as lowest_busy_sm_clock_hz,
        max(memory_clock_hz) as top_memory_clock_hz,
        max(memory_used_bytes) as max_memory_used_bytes
    from marts.gpu_timeline
    group by all
)

select
    source_name,
    gpu,
    seconds,
    exporters,
    busy_seconds,
    mean_power_w,
    max_power_w,
    busy_sm_clock_hz,
    lowest_busy_sm_clock_hz,
    max_memory_used_bytes,
    busy_sm_clock_hz < 0.97e0 * max(busy_sm_clock_hz) over (partition by top_memory_clock_hz) as is_slower
from spans
