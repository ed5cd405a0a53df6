-- One row per service, week and source with requests of the week: how many of them an earlier source has too.
-- service, week  the service; ISO week in its zone
-- source_name    what the user calls the source
-- requests       that it has
-- copies         of these, counted in an earlier source
-- failed         of those that are counted, failed or without an answer
select
    service,
    week,
    source_name,
    count(*) as requests,
    count(*) filter (where is_copy) as copies,
    count(*) filter (where not is_copy and not is_measured) as failed
from portable.requests
group by service, week, source_name
