-- A run has as many rows, sent and completed, as its run.json counted while it ran: no measurement was lost on the way. A run that never ended
-- has no counts and is not checked.
-- group: trust
-- run_id               the replay
-- reported_sent        requests sent, by run.json
-- sent                 requests sent, by the rows
-- reported_completed   requests that succeeded, by run.json
-- completed            requests that succeeded, by the rows
select
    runs.run_id,
    runs.reported_sent,
    count(*) filter (where requests.is_sent) as sent,
    runs.reported_completed,
    count(*) filter (where requests.is_success) as completed
from staging.runs
left join staging.requests on requests.run_id = runs.run_id
where runs.reported_sent is not null
group by
    runs.run_id,
    runs.reported_sent,
    runs.reported_completed
having runs.reported_sent <> count(*) filter (where requests.is_sent)
    or runs.reported_completed <> count(*) filter (where requests.is_success)
