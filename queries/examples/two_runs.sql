-- Is the second run faster than the first, and is that more than chance?
--
-- ratio is the second over the first, with its 90 % interval; is_different says that the interval does not hold 1. Where a column of the
-- interval is empty, reason says why. Name two runs of your own in place of the first two.
-- group: runs
with chosen as (
    select
        min(run_id) as before,
        min(run_id) filter (where run_id > (select min(run_id) from marts.runs)) as after
    from marts.runs
)

select
    metric,
    statistic,
    value,
    other_value,
    ratio,
    low_ratio,
    high_ratio,
    is_different,
    reason
from marts.run_pairs
where run_id = (select before from chosen)
    and other_run_id = (select after from chosen)
order by
    metric,
    statistic
