-- One row per run and kind of failure, warm-up left out. Requests that were never
-- sent did not fail: marts.runs counts them as unsent.
-- Kept per run.
-- group: runs
-- run_id     the replay
-- failure    kind: 'http_429', 'cut_stream', 'no_token', ...
-- requests   how many
-- example    what was said of the first of them
select
    run_id,
    failure,
    count(*) as requests,
    arg_min(failure_detail, seq) as example
from staging.requests
where failure is not null
    and not is_warm_up
group by
    run_id,
    failure
