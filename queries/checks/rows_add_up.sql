-- Rows read = rows kept + rows rejected, and as many of each lie in the tables.
-- One row per source whose counts do not add up. A run's rows are its planned
-- requests; a reject may also be a line of its samples.
--
-- source_name     the source
-- rows_read       as counted while reading
-- rows_kept       as counted while reading
-- rows_rejected   as counted while reading
-- stored_rows     what lies in raw.arrivals or raw.requests
-- stored_rejects  what lies in raw.rejects
with stored_rows as (
    select arrivals.source_id, count(*) as stored_rows
    from raw.arrivals
    group by arrivals.source_id
    union all
    select runs.source_id, count(*) as stored_rows
    from raw.requests
    join raw.runs using (run_id)
    group by runs.source_id
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
