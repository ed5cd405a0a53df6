-- One row per run, metric, class and bucket: how many samples lie in the bucket. Successful requests without warm-up; lateness is of all that
-- were sent. The buckets are the same for every run, so that histograms of many runs add up exactly:
-- sum the samples and give them to macros.histogram_quantile.
--
--   select metric, macros.histogram_quantile(list(bucket order by bucket), list(samples order by bucket), 0.99) as p99_s
--   from (select metric, bucket, sum(samples)::bigint as samples from marts.latency_histograms group by all)
--   group by metric
-- Kept per run.
-- group: runs
-- run_id    the replay
-- metric    'ttft_s', 'ttft_from_due_s', 'tpot_s', 'e2e_s', 'lateness_s' or 'itl_s', as staging.requests and staging.token_gaps define them
-- class     what the trace calls the kind of the requests; null where it has none
-- bucket    number of the bucket: it holds the values from 2 ** (bucket / 64) to 2 ** ((bucket + 1) / 64) seconds, which is 1.09 %
--           wide; bucket -1276, the lowest, also holds all below a microsecond
-- samples   how many there are
select
    run_id,
    metric,
    class,
    macros.latency_bucket(value_s) as bucket,
    sum(samples)::bigint as samples
from (
    select
        run_id,
        class,
        1 as samples,
        unnest(['ttft_s', 'ttft_from_due_s', 'tpot_s', 'e2e_s', 'lateness_s']) as metric,
        unnest([
            case when is_success then ttft_s end,
            case when is_success then ttft_from_due_s end,
            case when is_success then tpot_s end,
            case when is_success then e2e_s end,
            lateness_s
        ]) as value_s
    from staging.requests
    where is_sent
        and not is_warm_up
    union all
    select
        run_id,
        class,
        gaps,
        'itl_s',
        gap_us * 1e-6
    from staging.gap_counts
) as values_s
where value_s is not null
group by all
