-- Is the second run faster than the first, and is that more than chance?
--
-- ratio is the second over the first, with its 90 % interval from low to high; is_different says that the interval does not hold 1. Where the
-- interval is empty, reason says why. runs has the ends of both ids. Name two runs of your own in place of the first two.
-- group: runs
with chosen as (
    select
        min(run_id) as before,
        min(run_id) filter (where run_id > (select min(run_id) from marts.runs)) as after
    from marts.runs
),

figures as (
    select
        *,
        case
            when metric = 'output_token_per_s' then 'tokens/s'
            else statistic || ' ' || replace(metric, '_s', '')
        end as figure,
        metric = 'output_token_per_s' as is_rate
    from marts.run_pairs
    where run_id = (select before from chosen)
        and other_run_id = (select after from chosen)
)

select
    right(run_id, 4) || ', ' || right(other_run_id, 4) as runs,
    figure,
    case when is_rate then macros.figures(value) || '/s' else macros.duration_text(value) end as before,
    case when is_rate then macros.figures(other_value) || '/s' else macros.duration_text(other_value) end as after,
    ratio,
    low_ratio as low,
    high_ratio as high,
    is_different,
    reason,
    run_id,
    other_run_id
from figures
order by
    metric,
    statistic
