-- One row per service and hour of a week with a report: what came in it, and the replicas that it needed.
--
-- What was counted is counted here anew from the requests. What a replica handles of the hour, and with it the replicas that it needs, is as the report
-- estimated it.
-- service, week           the service; ISO week in its zone
-- hour_start              first instant of the hour
-- local_hour              by the clock of the service's zone, with its offset
-- day                     0 Monday to 6 Sunday, local
-- hour_of_day             '00:00' to '23:00'; of a clock that is set by half an hour, also '02:30'
-- nth                     1; 2 for an hour that the clock shows a second time that day
-- length_s                seconds: 3600, or 1800 where a clock is set by half an hour
-- is_missing              no source covers it and no request came: figures are null
-- requests                that arrived
-- rate_per_s              requests per second
-- peak_rate_per_s         of its busiest five minutes by the clock, requests per second
-- input_tokens            of prompts, tokens
-- output_tokens           of answers, tokens
-- p50_input_tokens        median prompt of requests whose lengths count, tokens
-- p99_input_tokens        99th percentile; null below 100 requests
-- p50_output_tokens       median answer, tokens
-- p99_output_tokens       99th percentile; null below 100 requests
-- burst_ratio             variance of the counts of its five minutes over their mean
-- replica_rate_per_s, low_replica_rate_per_s, high_replica_rate_per_s  what one replica takes within the SLO, with its 90 % interval, requests per second
-- needed_replicas         whole replicas for peak_rate_per_s at replica_rate_per_s; null: no capacity is known
-- low_needed_replicas     at high_replica_rate_per_s
-- high_needed_replicas    at low_replica_rate_per_s
-- run_replicas            to run in that hour: high_needed_replicas, one at least; as paid where the need is not known
-- paid_replicas           paid for
-- paid_rate_ratio         what one of the paid replicas takes over replica_rate_per_s
-- gpu_hours_paid          GPU-hours of the paid replicas
-- cost_usd                of the paid replicas, US dollars
with bins as (
    select
        bins.service,
        bins.hour_start,
        bins.bin_start,
        count(requests.service) as requests
    from portable.bins
    left join portable.requests on requests.service = bins.service
        and requests.bin_start = bins.bin_start
        and not requests.is_copy
    group by all
),

bursts as (
    select
        service,
        hour_start,
        300 * count(*) as length_s,
        max(requests) / 3e2 as peak_rate_per_s,
        var_samp(requests) / nullif(avg(requests), 0) as burst_ratio
    from bins
    group by all
),

sums as (
    select
        service,
        hour_start,
        count(*) as requests,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        percentile_cont(0.5) within group (order by input_tokens) filter (where is_measured) as p50_input_tokens,
        percentile_cont(0.5) within group (order by output_tokens) filter (where is_measured) as p50_output_tokens,
        case when count(*) filter (where is_measured) >= 100
            then percentile_cont(0.99) within group (order by input_tokens) filter (where is_measured)
        end as p99_input_tokens,
        case when count(*) filter (where is_measured) >= 100
            then percentile_cont(0.99) within group (order by output_tokens) filter (where is_measured)
        end as p99_output_tokens
    from portable.requests
    where not is_copy
    group by service, hour_start
),

counted as (
    select
        hours.service,
        hours.week,
        hours.hour_start,
        hours.local_hour,
        dense_rank() over (partition by hours.service, hours.week order by substr(hours.local_hour, 1, 10)) - 1 as day,
        substr(hours.local_hour, 12, 5) as hour_of_day,
        row_number() over (partition by hours.service, substr(hours.local_hour, 1, 16) order by hours.hour_start) as nth,
        bursts.length_s,
        sums.requests is null and covered.hour_start is null as is_missing,
        coalesce(sums.requests, 0) as requests,
        bursts.peak_rate_per_s,
        coalesce(sums.input_tokens, 0) as input_tokens,
        coalesce(sums.output_tokens, 0) as output_tokens,
        sums.p50_input_tokens,
        sums.p99_input_tokens,
        sums.p50_output_tokens,
        sums.p99_output_tokens,
        bursts.burst_ratio,
        hours.replica_rate_per_s,
        hours.low_replica_rate_per_s,
        hours.high_replica_rate_per_s,
        hours.needed_replicas,
        hours.low_needed_replicas,
        hours.high_needed_replicas,
        coalesce(hours.paid_rate_ratio, 1e0) as paid_rate_ratio,
        hours.paid_replicas,
        weeks.gpus_per_replica,
        weeks.usd_per_gpu_hour
    from marts.service_hours as hours
    inner join marts.service_weeks as weeks on weeks.service = hours.service
        and weeks.week = hours.week
    inner join bursts on bursts.service = hours.service
        and bursts.hour_start = hours.hour_start
    left join sums on sums.service = hours.service
        and sums.hour_start = hours.hour_start
    left join portable.covered on covered.service = hours.service
        and covered.hour_start = hours.hour_start
)

select
    service,
    week,
    hour_start,
    local_hour,
    day,
    hour_of_day,
    nth,
    length_s,
    is_missing,
    case when not is_missing then requests end as requests,
    case when not is_missing then requests / cast(length_s as double) end as rate_per_s,
    case when not is_missing then peak_rate_per_s end as peak_rate_per_s,
    case when not is_missing then input_tokens end as input_tokens,
    case when not is_missing then output_tokens end as output_tokens,
    p50_input_tokens,
    p99_input_tokens,
    p50_output_tokens,
    p99_output_tokens,
    burst_ratio,
    replica_rate_per_s,
    low_replica_rate_per_s,
    high_replica_rate_per_s,
    needed_replicas,
    low_needed_replicas,
    high_needed_replicas,
    case when high_needed_replicas is not null then greatest(1, high_needed_replicas) else paid_replicas end as run_replicas,
    paid_replicas,
    paid_rate_ratio,
    paid_replicas * gpus_per_replica * length_s / 36e2 as gpu_hours_paid,
    paid_replicas * gpus_per_replica * length_s / 36e2 * usd_per_gpu_hour as cost_usd
from counted
