-- No counter reads zero after it was large, unless its server was started again. One row per counter and file where one does: its writer
-- could not print it, such as one that fails on 1e+06. Its growth is missing until it is back.
--
-- group: trust
-- source_name   the file
-- name          as exposed
-- labels        'k="v",...' sorted by key
-- looks         looks at which it reads zero
with servers as (
    select
        source_name,
        history,
        place,
        bool_or(is_reset) as is_anew
    from staging.metric_intervals
    group by all
)

select
    metric_intervals.source_name,
    metric_intervals.name,
    metric_intervals.labels,
    count(*) as looks
from staging.metric_intervals
inner join servers using (source_name, history, place)
where metric_intervals.is_lost and not servers.is_anew
group by all
