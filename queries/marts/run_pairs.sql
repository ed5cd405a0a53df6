-- One row per ordered pair of runs, metric and statistic: both values, their ratio and difference, and the 90 % interval of these. The ratio is
-- other_value / value, so run_id is the run from before and other_run_id the one from after. Name both: the view has all pairs.
--
-- Runs of one plan are paired: only requests that are successful in both count, and the replicates of both are of the same blocks of time, so that
-- what the length or the burst of requests does to both runs does not widen the interval. Other runs are compared as they are.
-- Gaps between chunks (itl_s) and throughput are each run's own, also of a pair.
--
-- The interval is a block bootstrap (macros/resampling.sql). It is null below the samples that an interval of the statistic wants, and where fewer
-- than ten of sixty blocks of time hold a sample at or beyond the value: one burst would decide. A metric that one run lacks has no row.
-- Whether two runs may be compared at all (one model, one load, one origin) is in marts.run_differences.
-- group: runs
-- run_id            the run from before
-- other_run_id      the run from after
-- metric            'ttft_s', 'tpot_s', 'e2e_s', 'itl_s' or 'output_token_per_s'
-- statistic         'mean', 'p50', 'p90', 'p95' or 'p99'; of output_token_per_s the mean alone
-- is_paired         both sent the same plan
-- samples           of run_id: requests, of itl_s gaps; of a pair those of both
-- other_samples     of other_run_id
-- value             of run_id: seconds, or tokens per second; null below one sample beyond a percentile: p99 wants 100
-- other_value       of other_run_id
-- ratio             other_value / value
-- low_ratio         lower end of its 90 % interval
-- high_ratio        upper end of it
-- difference        other_value - value
-- low_difference    lower end of its 90 % interval
-- high_difference   upper end of it
-- is_different      the interval of the ratio does not hold 1; null without an interval
-- reason            why there is no interval: 'too few samples', 'too few bursts', or 'zero' (a value is); else null
with candidates as (
    select
        run_id,
        plan_fingerprint
    from staging.runs
    where has_ended
),

pairs as (
    select
        one.run_id,
        two.run_id as other_run_id,
        coalesce(one.plan_fingerprint = two.plan_fingerprint, false) as is_paired
    from candidates as one
    inner join candidates as two on two.run_id <> one.run_id
),

-- One row per request of a pair that is successful in both.
both_requests as (
    select
        one.run_id,
        two.run_id as other_run_id,
        one.ttft_s,
        two.ttft_s as other_ttft_s,
        case when two.tpot_s is not null then one.tpot_s end as tpot_s,
        case when one.tpot_s is not null then two.tpot_s end as other_tpot_s,
        one.e2e_s,
        two.e2e_s as other_e2e_s
    from pairs
    inner join staging.requests as one on one.run_id = pairs.run_id
    inner join staging.requests as two
        on two.run_id = pairs.other_run_id
        and two.seq = one.seq
    where pairs.is_paired
        and one.is_success
        and two.is_success
        and not one.is_warm_up
        and not two.is_warm_up
),

paired_values as (
    select
        run_id,
        other_run_id,
        unnest([
            {
                'metric': 'ttft_s', 'samples': count(ttft_s), 'mean': avg(ttft_s), 'other_mean': avg(other_ttft_s),
                'quantiles': quantile_cont(ttft_s, macros.compared_quantiles()),
                'other_quantiles': quantile_cont(other_ttft_s, macros.compared_quantiles())
            },
            {
                'metric': 'tpot_s', 'samples': count(tpot_s), 'mean': avg(tpot_s), 'other_mean': avg(other_tpot_s),
                'quantiles': quantile_cont(tpot_s, macros.compared_quantiles()),
                'other_quantiles': quantile_cont(other_tpot_s, macros.compared_quantiles())
            },
            {
                'metric': 'e2e_s', 'samples': count(e2e_s), 'mean': avg(e2e_s), 'other_mean': avg(other_e2e_s),
                'quantiles': quantile_cont(e2e_s, macros.compared_quantiles()),
                'other_quantiles': quantile_cont(other_e2e_s, macros.compared_quantiles())
            }
        ], recursive := true)
    from both_requests
    group by
        run_id,
        other_run_id
),

paired_statistics as (
    select
        run_id,
        other_run_id,
        metric,
        samples,
        unnest(['mean', 'p50', 'p90', 'p95', 'p99']) as statistic,
        unnest([mean] || quantiles) as value,
        unnest([other_mean] || other_quantiles) as other_value
    from paired_values
),

compared as (
    select
        pairs.run_id,
        pairs.other_run_id,
        pairs.is_paired,
        one.metric,
        one.statistic,
        coalesce(own.samples, one.samples) as samples,
        coalesce(own.samples, two.samples) as other_samples,
        case when one.value is not null then coalesce(own.value, one.value) end as value,
        case when two.value is not null then coalesce(own.other_value, two.value) end as other_value,
        case
            when one.value is null or two.value is null then 'too few samples'
            when least(one.value, two.value) <= 0 then 'zero'
            when one.samples < one.samples_wanted or two.samples < two.samples_wanted then 'too few samples'
            when not (one.is_enough and two.is_enough) then 'too few bursts'
        end as reason,
        -- Each replicate as a multiple of its run's value. A replicate of 0 has no logarithm; it counts as a thousandth of the value.
        [greatest(replicate / one.value, 1e-3) for replicate in one.replicates] as factors,
        [greatest(replicate / two.value, 1e-3) for replicate in two.replicates] as other_factors
    from pairs
    inner join marts.run_statistics as one on one.run_id = pairs.run_id
    inner join marts.run_statistics as two
        on two.run_id = pairs.other_run_id
        and two.metric = one.metric
        and two.statistic = one.statistic
    left join paired_statistics as own
        on own.run_id = pairs.run_id
        and own.other_run_id = pairs.other_run_id
        and own.metric = one.metric
        and own.statistic = one.statistic
),

spread as (
    select
        *,
        case when is_paired then 1 else 2 end as sets,
        other_value / nullif(value, 0) as ratio,
        other_value - value as difference,
        case when reason is null then list_sort([ln(greatest(ratio * other_factors[i] / factors[i], 1e-12)) for i in range(1, len(factors) + 1)]) end as log_ratios,
        case when reason is null then list_sort([other_value * other_factors[i] - value * factors[i] for i in range(1, len(factors) + 1)]) end as differences
    from compared
)

select
    run_id,
    other_run_id,
    metric,
    statistic,
    is_paired,
    samples,
    other_samples,
    value,
    other_value,
    ratio,
    exp(macros.resampled_end(ln(nullif(ratio, 0)), log_ratios, 0.05e0, sets)) as low_ratio,
    exp(macros.resampled_end(ln(nullif(ratio, 0)), log_ratios, 0.95e0, sets)) as high_ratio,
    difference,
    macros.resampled_end(difference, differences, 0.05e0, sets) as low_difference,
    macros.resampled_end(difference, differences, 0.95e0, sets) as high_difference,
    low_ratio > 1 or high_ratio < 1 as is_different,
    reason
from spread
