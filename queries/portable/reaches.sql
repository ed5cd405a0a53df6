-- One row per source with dates: its first and its last request.
-- source_name  what the user calls the source
-- first_at     its first request
-- last_at      its last one
select
    source_name,
    min(arrival_at) as first_at,
    max(arrival_at) as last_at
from staging.arrivals
where arrival_at is not null
group by source_name
