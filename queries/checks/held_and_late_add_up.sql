-- The wait behind a cap and the client's own lateness add up to the whole wait: neither is below zero, and only a run with a cap holds a
-- request back. Half a microsecond is rounding.
-- group: trust
-- run_id            the replay
-- seq               the request's place in its plan
-- max_concurrency   the cap; null for none
-- wait_s            sent after due, seconds
-- held_s            of it, behind the cap
-- lateness_s        of it, the client's fault
select
    requests.run_id,
    requests.seq,
    runs.max_concurrency,
    requests.wait_s,
    requests.held_s,
    requests.lateness_s
from staging.requests
inner join staging.runs on runs.run_id = requests.run_id
where requests.is_sent
    and (
        requests.held_s < -0.5e-6
        or requests.lateness_s < -0.5e-6
        or (requests.held_s > 0.5e-6 and runs.max_concurrency is null)
    )
