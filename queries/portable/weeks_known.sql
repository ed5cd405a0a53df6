-- One row per service and week: when it begins and ends, and the week before it.
-- service      the service
-- week         ISO week in the service's zone: '2026-W47'
-- week_start   its first instant
-- week_end     first instant after it
-- last_week    the week that ends where this one begins; null: it has no report
with weeks as (
    select
        service,
        week,
        min(bin_start) as week_start,
        max(bin_start) + interval '5' minute as week_end
    from portable.bins
    group by service, week
)

select
    weeks.service,
    weeks.week,
    weeks.week_start,
    weeks.week_end,
    before.week as last_week
from weeks
left join weeks as before on before.service = weeks.service
    and before.week_end = weeks.week_start
