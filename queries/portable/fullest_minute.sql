-- One row per service and week: the minute with the most requests; of several, the first.
-- service, week  the service; ISO week in its zone
-- minute_start   its first instant
-- requests       that arrived in it
with minutes as (
    select
        service,
        week,
        date_trunc('minute', arrival_at) as minute_start,
        count(*) as requests
    from portable.requests
    where not is_copy
    group by all
)

select *
from minutes
qualify row_number() over (partition by service, week order by requests desc, minute_start) = 1
