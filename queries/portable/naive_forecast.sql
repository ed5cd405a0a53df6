-- One row per service and week: the naive forecast of the next week's busiest five minutes, and how far it was off so far.
--
-- Every hour of the week comes again as it was when it was last seen. Errors of forecasts one to four weeks ahead overlap, so that one of h weeks
-- ahead counts 1/h. A forecast takes at least two weeks.
-- service, week    the service; ISO week in its zone
-- peak_rate_per_s  of the week that follows, requests per second
-- mean_error       mean of the absolute natural logarithms of what came over what was forecast, up to this week; null: none is known
with weeks as (
    select
        service,
        week,
        row_number() over (partition by service order by week) as number
    from portable.weeks_known
),

hours as (
    select
        hours.service,
        weeks.number,
        hours.day,
        hours.hour_of_day,
        hours.peak_rate_per_s
    from portable.hours
    inner join weeks on weeks.service = hours.service
        and weeks.week = hours.week
    where not hours.is_missing
    qualify row_number() over (partition by hours.service, hours.week, hours.day, hours.hour_of_day order by hours.hour_start desc) = 1
),

seen as ( -- each hour of the week as it was last seen up to a week
    select
        weeks.service,
        weeks.number,
        hours.day,
        hours.hour_of_day,
        hours.peak_rate_per_s
    from weeks
    inner join hours on hours.service = weeks.service
        and hours.number <= weeks.number
    qualify row_number() over (partition by weeks.service, weeks.number, hours.day, hours.hour_of_day order by hours.number desc) = 1
),

came as (
    select
        service,
        week,
        max(peak_rate_per_s) as peak_rate_per_s
    from portable.hours
    group by service, week
),

errors as (
    select
        seen.service,
        later.number,
        later.number - seen.number as ahead,
        abs(ln(nullif(max(came.peak_rate_per_s), 0) / nullif(max(seen.peak_rate_per_s), 0))) / (later.number - seen.number) as weighted_error
    from seen
    inner join weeks as later on later.service = seen.service
        and later.number between seen.number + 1 and seen.number + 4
    inner join came on came.service = later.service
        and came.week = later.week
    inner join hours on hours.service = later.service
        and hours.number = later.number
        and hours.day = seen.day
        and hours.hour_of_day = seen.hour_of_day
    where seen.number >= 2
    group by seen.service, later.number, seen.number
),

forecasts as (
    select
        service,
        number,
        max(peak_rate_per_s) as peak_rate_per_s
    from seen
    group by service, number
)

select
    weeks.service,
    weeks.week,
    max(forecasts.peak_rate_per_s) as peak_rate_per_s,
    sum(errors.weighted_error) / sum(1e0 / errors.ahead) filter (where errors.weighted_error is not null) as mean_error
from weeks
inner join forecasts on forecasts.service = weeks.service
    and forecasts.number = weeks.number
left join errors on errors.service = weeks.service
    and errors.number <= weeks.number
group by weeks.service, weeks.week
