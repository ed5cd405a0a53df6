-- One row per metric and quantile of the replays in the lake, all together.
--
-- Histograms of runs have the same buckets, 64 to a doubling, so that their counts add up exactly. A quantile read from them is at most 0.55 % off.
-- metric     'ttft_s', 'ttft_from_due_s', 'tpot_s', 'e2e_s', 'lateness_s' or 'itl_s'
-- q          0.5, 0.9 or 0.99
-- samples    of the metric
-- latency_s  the quantile, seconds: the middle, in the logarithm, of its bucket
with buckets as (
    select
        metric,
        bucket,
        sum(samples) as samples
    from marts.latency_histograms
    group by metric, bucket
),

counted as (
    select
        metric,
        bucket,
        sum(samples) over (partition by metric order by bucket) as up_to_bucket,
        sum(samples) over (partition by metric) as samples
    from buckets
)

select
    counted.metric,
    quantiles.q,
    cast(max(counted.samples) as bigint) as samples,
    power(2e0, (5e-1 + min(counted.bucket)) / 64) as latency_s
from counted
inner join (values (5e-1), (9e-1), (99e-2)) as quantiles (q) on counted.up_to_bucket > floor(quantiles.q * (counted.samples - 1))
group by counted.metric, quantiles.q
