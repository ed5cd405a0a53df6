-- Rows read = rows kept + rows rejected, and as many of each lie in the tables.
-- One row per source whose counts do not add up. A run's rows are its planned
-- requests; a reject may also be a line of its samples. A result of another tool has its measurements
-- and the requests that the tool timed; the figures of a measurement are part of it.
--
-- source_name     the source
-- rows_read       as counted while reading
-- rows_kept       as counted while reading
-- rows_rejected   as counted while reading
-- stored_rows     what lies in the raw tables
-- stored_rejects  what lies in raw.rejects
with rows_of_tables as (
    select arrivals.source_id, count(*) as stored_rows
    from raw.arrivals
    group by arrivals.source_id
    union all
    select length_cells.source_id, count(*) as stored_rows
    from raw.length_cells
    group by length_cells.source_id
    union all
    select rate_windows.source_id, count(*) as stored_rows
    from raw.rate_windows
    group by rate_windows.source_id
    union all
    select metrics.source_id, count(*) as stored_rows
    from raw.metrics
    group by metrics.source_id
    union all
    select kernels.source_id, count(*) as stored_rows
    from raw.kernels
    group by kernels.source_id
    union all
    select kernel_rules.source_id, count(*) as stored_rows
    from raw.kernel_rules
    group by kernel_rules.source_id
    union all
    select gemm_times.source_id, count(*) as stored_rows
    from raw.gemm_times
    group by gemm_times.source_id
    union all
    select expert_times.source_id, count(*) as stored_rows
    from raw.expert_times
    group by expert_times.source_id
    union all
    select attention_times.source_id, count(*) as stored_rows
    from raw.attention_times
    group by attention_times.source_id
    union all
    select mla_times.source_id, count(*) as stored_rows
    from raw.mla_times
    group by mla_times.source_id
    union all
    select all_reduce_times.source_id, count(*) as stored_rows
    from raw.all_reduce_times
    group by all_reduce_times.source_id
    union all
    select gpus.source_id, count(*) as stored_rows
    from raw.gpus
    group by gpus.source_id
    union all
    select prices.source_id, count(*) as stored_rows
    from raw.prices
    group by prices.source_id
    union all
    select model_configs.source_id, count(*) as stored_rows
    from raw.model_configs
    group by model_configs.source_id
    union all
    select points.source_id, count(*) as stored_rows
    from raw.points
    group by points.source_id
    union all
    select result_requests.source_id, count(*) as stored_rows
    from raw.result_requests
    group by result_requests.source_id
    union all
    select documents.source_id, count(*) as stored_rows
    from raw.documents
    group by documents.source_id
    union all
    select runs.source_id, count(*) as stored_rows
    from raw.requests
    join raw.runs using (run_id)
    group by runs.source_id
),

stored_rows as (
    select rows_of_tables.source_id, sum(rows_of_tables.stored_rows)::bigint as stored_rows
    from rows_of_tables
    group by rows_of_tables.source_id
),

stored_rejects as (
    select rejects.source_id, count(*) as stored_rejects
    from raw.rejects
    group by rejects.source_id
)

select
    sources.name as source_name,
    sources.rows_read,
    sources.rows_kept,
    sources.rows_rejected,
    coalesce(stored_rows.stored_rows, 0) as stored_rows,
    coalesce(stored_rejects.stored_rejects, 0) as stored_rejects,
from raw.sources
left join stored_rows using (source_id)
left join stored_rejects using (source_id)
where sources.rows_read <> sources.rows_kept + sources.rows_rejected
    or sources.rows_kept <> coalesce(stored_rows.stored_rows, 0)
    or sources.rows_rejected <> coalesce(stored_rejects.stored_rejects, 0)
