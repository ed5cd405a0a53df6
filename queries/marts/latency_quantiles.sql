-- One row per run, metric and quantile, over successful requests without warm-up; lateness is over all requests that were sent. Values are
-- interpolated linearly between the two nearest samples.
-- Kept per run.
-- group: runs
-- run_id         the replay
-- is_simulated   measured on a simulated server
-- metric         'ttft_s', 'ttft_from_due_s', 'tpot_s', 'e2e_s', 'lateness_s' or 'itl_s', as staging.requests and staging.chunks define them
-- quantile       0.5 is the median
-- value_s        seconds; null above the 95th percentile where less than one sample lies beyond: p99 wants 100
-- samples        how many there were
with samples as (
    unpivot (
        select
            run_id,
            case when is_success then ttft_s end as ttft_s,
            case when is_success then ttft_from_due_s end as ttft_from_due_s,
            case when is_success then tpot_s end as tpot_s,
            case when is_success then e2e_s end as e2e_s,
            lateness_s
        from staging.requests
        where is_sent
            and not is_warm_up
    )
    on columns(* exclude (run_id))
    into name metric value value_s
),

spread as (
    select
        run_id,
        metric,
        quantile_cont(value_s, macros.shown_quantiles()) as values_s,
        count(*) as samples
    from samples
    group by
        run_id,
        metric
    union all
    select
        run_id,
        'itl_s',
        list_transform(
            macros.shown_quantiles(),
            lambda q: 1e-6 * macros.counted_quantile(list(gap_us order by gap_us), list(not_above order by gap_us), sum(gaps), q)
        ),
        sum(gaps)::bigint
    from (
        select
            run_id,
            gap_us,
            sum(gaps) as gaps,
            sum(sum(gaps)) over (partition by run_id order by gap_us) as not_above
        from staging.gap_counts
        group by
            run_id,
            gap_us
    ) as lengths
    group by run_id
),

each as (
    select
        spread.run_id,
        spread.metric,
        unnest(macros.shown_quantiles()) as quantile,
        unnest(spread.values_s) as value_s,
        spread.samples
    from spread
)

select
    each.run_id,
    runs.is_simulated,
    each.metric,
    each.quantile,
    case when each.quantile <= 0.95e0 or each.samples * (1 - each.quantile) > 0.9999e0 then each.value_s end as value_s,
    each.samples
from each
inner join staging.runs on runs.run_id = each.run_id
