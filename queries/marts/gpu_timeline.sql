-- One row per GPU and second of a metrics file. A GPU that is seen through two exporters is one GPU.
-- group: server
-- source_name          the file
-- gpu                  its UUID, else its host and number
-- at_s                 begin of the second, since the first look or the file's own zero; null without times
-- exporters            addresses that it was seen through; 0 where the file does not say
-- power_w              mean of the second, W
-- sm_clock_hz          clock of its multiprocessors, Hz
-- memory_clock_hz      clock of its memory, Hz
-- busy_ratio           share of the time that a kernel ran
-- memory_busy_ratio    share of the time that memory was read or written
-- memory_used_bytes    in use, of all its instances (MIG) together
-- temperature_c        degrees Celsius
-- sm_active_ratio      share of the time that SMs had work
-- dram_active_ratio    share of the time that memory was read or written, by the profiler
-- throttle_causes      what held its clock down: 'heat', 'power', 'hardware', 'other'; empty: nothing; null: not said
with parts as (
    select
        source_name,
        gpu,
        floor(at_s) as at_s,
        quantity,
        regexp_extract(labels, '(?:^|,)GPU_I_ID="([^"]*)"', 1) as gpu_instance,
        list(exporter) as exporters,
        avg(base_value) as base_value,
        bit_or(case when quantity = 'gpu_throttle_reasons' then base_value::ubigint end) as bits
    from staging.metrics
    where gpu is not null and quantity like 'gpu\_%' escape '\'
    group by all
)

select
    source_name,
    gpu,
    at_s,
    len(list_distinct(flatten(list(exporters)))) as exporters,
    avg(base_value) filter (where quantity = 'gpu_power_w') as power_w,
    avg(base_value) filter (where quantity = 'gpu_sm_clock_hz') as sm_clock_hz,
    avg(base_value) filter (where quantity = 'gpu_memory_clock_hz') as memory_clock_hz,
    avg(base_value) filter (where quantity = 'gpu_busy_ratio') as busy_ratio,
    avg(base_value) filter (where quantity = 'gpu_memory_busy_ratio') as memory_busy_ratio,
    sum(base_value) filter (where quantity = 'gpu_memory_used_bytes') as memory_used_bytes,
    avg(base_value) filter (where quantity = 'gpu_temperature_c') as temperature_c,
    avg(base_value) filter (where quantity = 'gpu_sm_active_ratio') as sm_active_ratio,
    avg(base_value) filter (where quantity = 'gpu_dram_active_ratio') as dram_active_ratio,
    macros.throttle_causes(bit_or(bits)) as throttle_causes
from parts
group by
    source_name,
    gpu,
    at_s
