-- One row per run and address whose /metrics were looked at: how often, and where looks are missing.
-- Kept per run.
-- group: server
-- run_id          the replay
-- url             address of the exposition; '' where the run does not say
-- looks           looks that were answered
-- first_s         the first of them, seconds since the run began
-- last_s          the last, seconds since the run began
-- longest_gap_s   longest time between two of them, seconds; a look each second is meant
-- gaps            times between two that are longer than 2.5 s: nothing is said of these
with looks as (
    select
        run_id,
        url,
        at_s
    from staging.samples
    where origin = 'server'
    group by
        run_id,
        url,
        at_s
),

spaced as (
    select
        run_id,
        url,
        at_s,
        at_s - lag(at_s) over (partition by run_id, url order by at_s) as gap_s
    from looks
)

select
    run_id,
    url,
    count(*) as looks,
    min(at_s) as first_s,
    max(at_s) as last_s,
    max(gap_s) as longest_gap_s,
    count(*) filter (where gap_s > 2.5e0) as gaps
from spaced
group by
    run_id,
    url
