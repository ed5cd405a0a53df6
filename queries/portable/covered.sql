-- One row per hour that a source of its service covers: there, no request means that none came.
-- service     the service
-- hour_start  first instant of the hour
with hours as (
    select
        service,
        week,
        hour_start,
        min(bin_start) over (partition by service, week, local_day) as day_start,
        max(bin_start) over (partition by service, week, local_day) + interval '5' minute as day_end,
        max(bin_start) over (partition by service, hour_start) + interval '5' minute as hour_end,
        bin_start
    from portable.bins
    inner join (
        select
            service,
            hour_start,
            substr(local_hour, 1, 10) as local_day
        from marts.service_hours
    ) as days using (service, hour_start)
)

select distinct
    hours.service,
    hours.hour_start
from hours
inner join marts.service_sources as sources on sources.service = hours.service
    and sources.week = hours.week
inner join portable.reaches on reaches.source_name = sources.source_name
left join portable.silences on silences.source_name = sources.source_name
    and silences.from_at <= hours.hour_start
    and silences.until_at >= hours.hour_end
where case sources.covers
    when 'rows' then hours.hour_start >= reaches.first_at and hours.hour_end <= reaches.last_at and silences.source_name is null
    when 'day' then hours.day_end > reaches.first_at and hours.day_start <= reaches.last_at
    else hours.hour_start >= try_cast(split_part(sources.covers, '/', 1) as timestamp) and hours.hour_end <= try_cast(split_part(sources.covers, '/', 2) as timestamp)
end
