-- One row per service and week with a report: its headline figures.
--
-- Sums leave out missing hours. Paid hours and cost are of the whole week. Shares and cost within the SLO are those that the capacity allows: where
-- production was measured, the page has others.
-- service, week             the service; ISO week in its zone
-- hours                     of the week
-- missing_hours             of these, without data
-- requests                  that arrived
-- input_tokens              of prompts, tokens
-- output_tokens             of answers, tokens
-- busiest_hour_start        the hour that needs most replicas; of several the one with the busiest five minutes
-- peak_rate_per_s           its busiest five minutes, requests per second
-- headroom_ratio            paid capacity over peak_rate_per_s, minus 1
-- low_headroom_ratio, high_headroom_ratio  at the ends of the capacity's 90 % interval
-- margin_ratio              low_headroom_ratio, as the tile has it: of the replicas that are paid for in the last hour, where they changed in the week
-- gpu_hours_needed          of the covered hours
-- cautious_gpu_hours_needed  at the low end of the capacity; null: of an hour it is not known
-- gpu_hours_paid            of the whole week
-- gpu_hours_paid_covered    of the covered hours
-- cost_usd                  of the paid GPU-hours, US dollars
-- accepted_output_tokens    output tokens of requests within the SLO; null: too many miss it
-- usd_per_million_accepted  cost of a million of them, US dollars
-- low_usd_per_million_accepted, high_usd_per_million_accepted  ends of its 90 % interval
-- within_slo_ratio          share of requests within the SLO
-- low_within_slo_ratio, high_within_slo_ratio  ends of its 90 % interval
-- median_burst_ratio        median of the hours' burst_ratio
-- highest_burst_ratio       greatest of them
-- paid_replicas             paid for in the last hour
with sums as (
    select
        service,
        week,
        count(*) as hours,
        count(*) filter (where is_missing) as missing_hours,
        cast(sum(requests) as bigint) as requests,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        cast(sum(needed_replicas * length_s / 36e2) as double) as replica_hours_needed,
        cast(sum(high_needed_replicas * length_s / 36e2) as double) as cautious_replica_hours_needed,
        count(*) filter (where not is_missing and high_needed_replicas is null) as unknown_hours,
        sum(gpu_hours_paid) as gpu_hours_paid,
        sum(gpu_hours_paid) filter (where not is_missing) as gpu_hours_paid_covered,
        sum(cost_usd) as cost_usd,
        percentile_cont(0.5) within group (order by burst_ratio) as median_burst_ratio,
        max(burst_ratio) as highest_burst_ratio,
        count(distinct paid_replicas) as numbers_paid
    from portable.hours
    group by service, week
),

busiest as (
    select
        service,
        week,
        hour_start as busiest_hour_start,
        peak_rate_per_s,
        paid_replicas * paid_rate_ratio * low_replica_rate_per_s / peak_rate_per_s - 1 as low_headroom_ratio,
        paid_replicas * paid_rate_ratio * replica_rate_per_s / peak_rate_per_s - 1 as headroom_ratio,
        paid_replicas * paid_rate_ratio * high_replica_rate_per_s / peak_rate_per_s - 1 as high_headroom_ratio
    from portable.hours
    where requests > 0
        and replica_rate_per_s is not null
    qualify row_number() over (partition by service, week order by needed_replicas desc, peak_rate_per_s desc, hour_start) = 1
),

latest as (
    select
        service,
        week,
        paid_replicas * paid_rate_ratio as paid_replicas
    from portable.hours
    qualify row_number() over (partition by service, week order by hour_start desc) = 1
),

margins as (
    select
        hours.service,
        hours.week,
        min(hours.low_replica_rate_per_s * latest.paid_replicas / hours.peak_rate_per_s - 1) as margin_ratio
    from portable.hours
    inner join latest on latest.service = hours.service
        and latest.week = hours.week
    where hours.requests > 0
    group by hours.service, hours.week
),

accepted as (
    select
        service,
        week,
        sum(requests * within_slo_ratio) / sum(requests) as within_slo_ratio,
        sum(requests * low_within_slo_ratio) / sum(requests) as low_within_slo_ratio,
        sum(requests * high_within_slo_ratio) / sum(requests) as high_within_slo_ratio,
        sum(output_tokens * within_slo_ratio) as output_tokens
    from portable.accepted
    where within_slo_ratio is not null
    group by service, week
),

priced as (
    select
        accepted.service,
        accepted.week,
        accepted.output_tokens as accepted_output_tokens,
        round(sums.gpu_hours_paid_covered * weeks.usd_per_gpu_hour / accepted.output_tokens * 1e6, 6) as usd_per_million_accepted
    from accepted
    inner join sums on sums.service = accepted.service
        and sums.week = accepted.week
    inner join marts.service_weeks as weeks on weeks.service = accepted.service
        and weeks.week = accepted.week
    where accepted.within_slo_ratio >= 1 - weeks.allowed_ratio
        and accepted.output_tokens > 0
)

select
    sums.service,
    sums.week,
    sums.hours,
    sums.missing_hours,
    sums.requests,
    sums.input_tokens,
    sums.output_tokens,
    busiest.busiest_hour_start,
    busiest.peak_rate_per_s,
    busiest.headroom_ratio,
    busiest.low_headroom_ratio,
    busiest.high_headroom_ratio,
    case when sums.numbers_paid = 1 then busiest.low_headroom_ratio else margins.margin_ratio end as margin_ratio,
    weeks.gpus_per_replica * sums.replica_hours_needed as gpu_hours_needed,
    case when sums.unknown_hours = 0 then weeks.gpus_per_replica * sums.cautious_replica_hours_needed end as cautious_gpu_hours_needed,
    sums.gpu_hours_paid,
    sums.gpu_hours_paid_covered,
    sums.cost_usd,
    priced.accepted_output_tokens,
    priced.usd_per_million_accepted,
    round(priced.usd_per_million_accepted * accepted.within_slo_ratio / accepted.high_within_slo_ratio, 6) as low_usd_per_million_accepted,
    round(priced.usd_per_million_accepted * accepted.within_slo_ratio / nullif(accepted.low_within_slo_ratio, 0), 6) as high_usd_per_million_accepted,
    accepted.within_slo_ratio,
    accepted.low_within_slo_ratio,
    accepted.high_within_slo_ratio,
    sums.median_burst_ratio,
    sums.highest_burst_ratio,
    latest.paid_replicas
from sums
inner join marts.service_weeks as weeks on weeks.service = sums.service
    and weeks.week = sums.week
inner join latest on latest.service = sums.service
    and latest.week = sums.week
left join busiest on busiest.service = sums.service
    and busiest.week = sums.week
left join margins on margins.service = sums.service
    and margins.week = sums.week
left join accepted on accepted.service = sums.service
    and accepted.week = sums.week
left join priced on priced.service = sums.service
    and priced.week = sums.week
