-- One row per service, hour and count that is usual: what the same hour of the week had in the four weeks before.
-- service, week  the service; ISO week in its zone
-- hour_start     first instant of the hour
-- figure         'requests', 'input_tokens' or 'output_tokens'
-- median         of the weeks before in which the hour is covered
-- low            least of them
-- high           greatest of them
-- weeks          how many they are
with figures as (
    select service, week, hour_start, day, hour_of_day, nth, 'requests' as figure, requests as amount from portable.hours
    union all
    select service, week, hour_start, day, hour_of_day, nth, 'input_tokens' as figure, input_tokens as amount from portable.hours
    union all
    select service, week, hour_start, day, hour_of_day, nth, 'output_tokens' as figure, output_tokens as amount from portable.hours
)

select
    figures.service,
    figures.week,
    figures.hour_start,
    figures.figure,
    percentile_cont(0.5) within group (order by before.amount) as median,
    min(before.amount) as low,
    max(before.amount) as high,
    count(*) as weeks
from figures
inner join portable.weeks_known as known on known.service = figures.service
    and known.week = figures.week
inner join portable.weeks_known as earlier on earlier.service = figures.service
    and earlier.week_start < known.week_start
    and earlier.week_start >= known.week_start - interval '28' day - interval '3' hour -- clocks may be set between
inner join figures as before on before.service = figures.service
    and before.week = earlier.week
    and before.day = figures.day
    and before.hour_of_day = figures.hour_of_day
    and before.figure = figures.figure
where before.nth = 1
    and before.amount is not null
group by all
