-- One row per run, class and length of a gap between two chunks: how many gaps were exactly so long. Fifty million gaps have some ten thousand
-- lengths, because they are measured in whole microseconds, so that their quantiles cost nothing and are exact.
-- Kept per run.
-- group: runs
-- run_id   the replay
-- class    what the trace calls the kind of the requests; null where it has none
-- gap_us   from one chunk to the next, microseconds
-- gaps     how many there were
select
    run_id,
    class,
    gap_us,
    count(*) as gaps
from staging.token_gaps
group by
    run_id,
    class,
    gap_us
