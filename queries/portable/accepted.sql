-- One row per service and hour that is covered: the share of its requests within the SLO, as the capacity of a replica allows.
--
-- At the load of a replica in the busiest five minutes, on the report's curve of misses: straight lines between its points, from nothing at no
-- load, and beyond its end to all at one and a half times that load. Without a curve, what is above the capacity misses.
-- service, week     the service; ISO week in its zone
-- hour_start        first instant of the hour
-- requests          that arrived in it
-- output_tokens     of answers, tokens
-- within_slo_ratio  share within the SLO; null: no capacity is known
-- low_within_slo_ratio, high_within_slo_ratio  ends of its 90 % interval
with points as (
    select
        service,
        week,
        rate_per_s,
        missed_ratio,
        low_missed_ratio,
        high_missed_ratio
    from marts.service_curves
    union all
    select distinct
        service,
        week,
        0e0 as rate_per_s,
        0e0 as missed_ratio,
        0e0 as low_missed_ratio,
        0e0 as high_missed_ratio
    from marts.service_curves
),

lines as (
    select
        *,
        lead(rate_per_s) over (partition by service, week order by rate_per_s) as next_rate_per_s,
        lead(missed_ratio) over (partition by service, week order by rate_per_s) as next_missed_ratio,
        lead(low_missed_ratio) over (partition by service, week order by rate_per_s) as next_low_missed_ratio,
        lead(high_missed_ratio) over (partition by service, week order by rate_per_s) as next_high_missed_ratio
    from points
),

loads as (
    select
        hours.*,
        hours.peak_rate_per_s / nullif(hours.paid_replicas * hours.paid_rate_ratio, 0) as load_per_s,
        hours.peak_rate_per_s / nullif(hours.paid_replicas * hours.paid_rate_ratio, 0) / nullif(hours.replica_rate_per_s, 0) * weeks.basis_replica_rate_per_s as load_on_curve
    from portable.hours
    inner join marts.service_weeks as weeks on weeks.service = hours.service
        and weeks.week = hours.week
    where not hours.is_missing
),

placed as (
    select
        loads.*,
        lines.service is not null as has_curve,
        lines.missed_ratio,
        lines.low_missed_ratio,
        lines.high_missed_ratio,
        lines.next_missed_ratio,
        lines.next_low_missed_ratio,
        lines.next_high_missed_ratio,
        (loads.load_on_curve - lines.rate_per_s) / (lines.next_rate_per_s - lines.rate_per_s) as along,
        greatest(0, (1.5e0 - loads.load_on_curve / nullif(lines.rate_per_s, 0)) / 5e-1) as left_beyond
    from loads
    left join lines on lines.service = loads.service
        and lines.week = loads.week
        and lines.rate_per_s <= loads.load_on_curve
        and (lines.next_rate_per_s is null or loads.load_on_curve < lines.next_rate_per_s)
)

select
    service,
    week,
    hour_start,
    requests,
    output_tokens,
    case
        when requests = 0 then 1
        when replica_rate_per_s is null then null
        when paid_replicas = 0 then 0
        when not has_curve then least(1, replica_rate_per_s / load_per_s)
        when next_missed_ratio is null then (1 - missed_ratio) * left_beyond
        else 1 - (missed_ratio + along * (next_missed_ratio - missed_ratio))
    end as within_slo_ratio,
    case
        when requests = 0 then 1
        when replica_rate_per_s is null then null
        when paid_replicas = 0 then 0
        when not has_curve then least(1, low_replica_rate_per_s / load_per_s)
        when next_missed_ratio is null then (1 - high_missed_ratio) * left_beyond
        else 1 - (high_missed_ratio + along * (next_high_missed_ratio - high_missed_ratio))
    end as low_within_slo_ratio,
    case
        when requests = 0 then 1
        when replica_rate_per_s is null then null
        when paid_replicas = 0 then 0
        when not has_curve then least(1, replica_rate_per_s / load_per_s)
        when next_missed_ratio is null then (1 - low_missed_ratio) * left_beyond
        else 1 - (low_missed_ratio + along * (next_low_missed_ratio - low_missed_ratio))
    end as high_within_slo_ratio
from placed
