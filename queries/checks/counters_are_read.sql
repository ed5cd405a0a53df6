-- No counter reads zero where it was large and its server did not begin anew: its writer could not print it, as those
-- that fail on 1e+06. What it counted meanwhile is missing until it is there again.
-- One row per counter and file where it does.
--
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
