-- Every request that a run planned has a row, sent or not: the denominator is whole.
-- group: trust
-- run_id             the replay
-- planned_requests   requests in its plan
-- rows               rows of the run
select
    runs.run_id,
    runs.planned_requests,
    count(requests.seq) as rows
from staging.runs
left join staging.requests using (run_id)
group by
    runs.run_id,
    runs.planned_requests
having count(requests.seq) is distinct from runs.planned_requests
