-- One row per service, week and headline figure: what became of it since the week before, over the hours that both cover.
-- service, week  the service; ISO week in its zone
-- figure         'requests', 'input_tokens', 'output_tokens', 'tokens', 'peak_rate_per_s' of the busiest hour, 'gpu_hours_needed', 'within_slo_ratio' (of each
--                week as its own report estimated it; the page takes one report's estimates for both weeks)
-- this           in these hours of the week
-- before         in those of the week before
-- ratio          this over before, minus 1
with sides as (
    select
        pairs.service,
        pairs.week,
        pairs.hour_start,
        'this' as side,
        pairs.hour_start as of_hour
    from portable.paired_hours as pairs
    union all
    select
        pairs.service,
        pairs.week,
        pairs.hour_start,
        'before' as side,
        pairs.last_hour_start as of_hour
    from portable.paired_hours as pairs
),

hours as (
    select
        sides.service,
        sides.week,
        sides.side,
        sides.hour_start,
        hours.requests,
        hours.input_tokens,
        hours.output_tokens,
        hours.peak_rate_per_s,
        hours.needed_replicas,
        hours.needed_replicas * hours.length_s / 36e2 * weeks.gpus_per_replica as gpu_hours_needed,
        accepted.within_slo_ratio,
        count(hours.needed_replicas) over (partition by sides.service, sides.week, sides.hour_start) = 2 as is_need_known,
        count(accepted.within_slo_ratio) over (partition by sides.service, sides.week, sides.hour_start) = 2 as is_share_known
    from sides
    inner join portable.hours on hours.service = sides.service
        and hours.hour_start = sides.of_hour
    inner join portable.accepted on accepted.service = sides.service
        and accepted.hour_start = sides.of_hour
    inner join marts.service_weeks as weeks on weeks.service = sides.service
        and weeks.week = sides.week
),

busiest as (
    select
        service,
        week,
        side,
        peak_rate_per_s
    from hours
    qualify row_number() over (partition by service, week, side order by coalesce(needed_replicas, -1) desc, peak_rate_per_s desc) = 1
),

sums as (
    select
        service,
        week,
        side,
        sum(requests) as requests,
        sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens,
        sum(gpu_hours_needed) filter (where is_need_known) as gpu_hours_needed,
        sum(requests * within_slo_ratio) filter (where is_share_known) / nullif(sum(requests) filter (where is_share_known), 0) as within_slo_ratio
    from hours
    group by service, week, side
),

figures as (
    select service, week, side, 'requests' as figure, cast(requests as double) as amount from sums
    union all
    select service, week, side, 'input_tokens' as figure, cast(input_tokens as double) as amount from sums
    union all
    select service, week, side, 'output_tokens' as figure, cast(output_tokens as double) as amount from sums
    union all
    select service, week, side, 'tokens' as figure, cast(input_tokens + output_tokens as double) as amount from sums
    union all
    select service, week, side, 'peak_rate_per_s' as figure, peak_rate_per_s as amount from busiest
    union all
    select service, week, side, 'gpu_hours_needed' as figure, gpu_hours_needed as amount from sums
    union all
    select service, week, side, 'within_slo_ratio' as figure, within_slo_ratio as amount from sums
)

select
    now.service,
    now.week,
    now.figure,
    now.amount as this,
    before.amount as before,
    now.amount / nullif(before.amount, 0) - 1 as ratio
from figures as now
inner join figures as before on before.service = now.service
    and before.week = now.week
    and before.figure = now.figure
where now.side = 'this'
    and before.side = 'before'
