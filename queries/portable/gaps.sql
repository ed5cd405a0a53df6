-- One row per stretch of missing hours of a week.
-- service, week  the service; ISO week in its zone
-- from_at        first instant without data
-- until_at       first instant with data again, or the end of the week
-- hours          hours in it
with numbered as (
    select
        service,
        week,
        hour_start,
        length_s,
        is_missing,
        row_number() over (partition by service, week order by hour_start)
        - row_number() over (partition by service, week, is_missing order by hour_start) as stretch
    from portable.hours
)

select
    service,
    week,
    min(hour_start) as from_at,
    max(hour_start + interval '1' second * length_s) as until_at,
    count(*) as hours
from numbered
where is_missing
group by service, week, stretch
