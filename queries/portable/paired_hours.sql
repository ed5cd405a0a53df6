-- One row per hour of a week that the week before covers too: only these are compared.
-- service, week    the service; ISO week in its zone
-- hour_start       first instant of the hour
-- last_week        the week before
-- last_hour_start  first instant of the same hour of the week before
select
    now.service,
    now.week,
    now.hour_start,
    known.last_week,
    before.hour_start as last_hour_start
from portable.hours as now
inner join portable.weeks_known as known on known.service = now.service
    and known.week = now.week
inner join portable.hours as before on before.service = now.service
    and before.week = known.last_week
    and before.day = now.day
    and before.hour_of_day = now.hour_of_day
    and before.nth = now.nth
where not now.is_missing
    and not before.is_missing
