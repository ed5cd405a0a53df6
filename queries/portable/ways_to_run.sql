-- One row per service, week and way to run its replicas.
-- service, week  the service; ISO week in its zone
-- way            'as paid', 'by the table' (run_replicas of each hour), 'ahead' (by the table, started ten minutes before), 'bound' (needed_replicas, without start-up)
-- gpu_hours      of the week
-- cost_usd       US dollars
-- saved_ratio    of what is paid for
with hours as (
    select
        hours.service,
        hours.week,
        weeks.gpus_per_replica * hours.length_s / 36e2 as gpu_hours_per_replica,
        weeks.usd_per_gpu_hour,
        hours.paid_replicas,
        hours.run_replicas,
        coalesce(lead(hours.run_replicas) over (partition by hours.service, hours.week order by hours.hour_start), hours.run_replicas) as next_run_replicas,
        case when hours.high_needed_replicas is null then hours.paid_replicas else greatest(1, hours.needed_replicas) end as bound_replicas
    from portable.hours
    inner join marts.service_weeks as weeks on weeks.service = hours.service
        and weeks.week = hours.week
),

ways as (
    select service, week, 'as paid' as way, usd_per_gpu_hour, gpu_hours_per_replica * paid_replicas as gpu_hours from hours
    union all
    select service, week, 'by the table' as way, usd_per_gpu_hour, gpu_hours_per_replica * run_replicas as gpu_hours from hours
    union all
    select service, week, 'ahead' as way, usd_per_gpu_hour,
        gpu_hours_per_replica * (50 * run_replicas + 10 * greatest(run_replicas, next_run_replicas)) / 6e1 as gpu_hours
    from hours
    union all
    select service, week, 'bound' as way, usd_per_gpu_hour, gpu_hours_per_replica * bound_replicas as gpu_hours from hours
),

sums as (
    select
        service,
        week,
        way,
        sum(gpu_hours) as gpu_hours,
        round(sum(gpu_hours * usd_per_gpu_hour), 2) as cost_usd
    from ways
    group by service, week, way
)

select
    sums.service,
    sums.week,
    sums.way,
    sums.gpu_hours,
    sums.cost_usd,
    1 - sums.gpu_hours / nullif(paid.gpu_hours, 0) as saved_ratio
from sums
inner join sums as paid on paid.service = sums.service
    and paid.week = sums.week
    and paid.way = 'as paid'
