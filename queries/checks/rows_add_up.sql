-- Rows read = rows kept + rows rejected, and as many of each lie in the tables.
-- One row per source whose counts do not add up. A run's rows are its planned
-- requests; a reject may also be a line of its samples. A result of another tool has its measurements
-- and the requests that the tool timed; the figures of a measurement are part of it.
--
-- group: trust
-- source_name     the source
-- rows_read       as counted while reading
-- rows_kept       as counted while reading
-- rows_rejected   as counted while reading
-- stored_rows     what lies in the raw tables
-- stored_rejects  what lies in raw.rejects
with rows_of_tables as (
    select source_id from raw.arrivals
    union all
    select source_id from raw.length_cells
    union all
    select source_id from raw.rate_windows
    union all
    select source_id from raw.metrics
    union all
    select source_id from raw.steps
    union all
    select source_id from raw.kernels
    union all
    select source_id from raw.kernel_rules
    union all
    select source_id from raw.gemm_times
    union all
    select source_id from raw.expert_times
    union all
    select source_id from raw.attention_times
    union all
    select source_id from raw.mla_times
    union all
    select source_id from raw.all_reduce_times
    union all
    select source_id from raw.exchange_times
    union all
    select source_id from raw.gpus
    union all
    select source_id from raw.prices
    union all
    select source_id from raw.model_configs
    union all
    select source_id from raw.points
    union all
    select source_id from raw.result_requests
    union all
    select source_id from raw.documents
    union all
    select source_id from raw.capacities
    union all
    select runs.source_id
    from raw.requests
    inner join raw.runs on runs.run_id = requests.run_id
),

stored_rows as (
    select
        source_id,
        count(*) as stored_rows
    from rows_of_tables
    group by source_id
),

stored_rejects as (
    select
        source_id,
        count(*) as stored_rejects
    from raw.rejects
    group by source_id
)

select
    sources.name as source_name,
    sources.rows_read,
    sources.rows_kept,
    sources.rows_rejected,
    coalesce(stored_rows.stored_rows, 0) as stored_rows,
    coalesce(stored_rejects.stored_rejects, 0) as stored_rejects
from raw.sources
left join stored_rows using (source_id)
left join stored_rejects using (source_id)
where sources.rows_read <> sources.rows_kept + sources.rows_rejected
    or sources.rows_kept <> coalesce(stored_rows.stored_rows, 0)
    or sources.rows_rejected <> coalesce(stored_rejects.stored_rejects, 0)
