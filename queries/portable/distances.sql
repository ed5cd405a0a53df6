-- One row per service, week and side of a request: how far its lengths are from those of the week before.
-- service, week  the service; ISO week in its zone
-- figure         'input_tokens' or 'output_tokens'
-- ks             greatest difference between the shares of requests up to a length
-- wasserstein    area between the two shares over the natural logarithm of the length: how far the lengths moved on average
with sides as (
    select bins.service, bins.week, bins.figure, bins.bin, bins.requests as now, 0 as before
    from portable.length_bins as bins
    union all
    select bins.service, known.week, bins.figure, bins.bin, 0 as now, bins.requests as before
    from portable.length_bins as bins
    inner join portable.weeks_known as known on known.service = bins.service
        and known.last_week = bins.week
),

bins as (
    select
        service,
        week,
        figure,
        bin,
        sum(now) as now,
        sum(before) as before
    from sides
    group by all
),

shares as (
    select
        service,
        week,
        figure,
        lead(bin) over (partition by service, week, figure order by bin) - bin as width,
        cast(sum(now) over (partition by service, week, figure order by bin) as double)
        / nullif(sum(now) over (partition by service, week, figure), 0) as share_now,
        cast(sum(before) over (partition by service, week, figure order by bin) as double)
        / nullif(sum(before) over (partition by service, week, figure), 0) as share_before
    from bins
)

select
    service,
    week,
    figure,
    max(abs(share_now - share_before)) as ks,
    sum(abs(share_now - share_before) * width) / 64 * ln(2e0) as wasserstein
from shares
where share_now is not null
    and share_before is not null
group by service, week, figure
