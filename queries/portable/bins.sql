-- One row per five minutes by the clock of each hour of a service's weeks.
--
-- Hours begin when they begin in the service's zone, so that in Kolkata they begin at half past by UTC.
-- service     the service
-- week        ISO week in the service's zone: '2026-W47'
-- hour_start  first instant of the hour
-- bin_start   first instant of the five minutes
with hours as (
    select
        service,
        week,
        hour_start,
        lead(hour_start) over (partition by service order by hour_start) as next_start
    from marts.service_hours
),

fifths as (
    select n
    from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) as numbers (n)
)

select
    hours.service,
    hours.week,
    hours.hour_start,
    hours.hour_start + interval '5' minute * fifths.n as bin_start
from hours
cross join fifths
where hours.next_start is null
    or hours.hour_start + interval '5' minute * fifths.n < hours.next_start -- an hour in which a clock is set may be half an hour
