-- What failed, and how?
--
-- One row per run and kind of failure, warm-up left out; failed_ratio is of all requests that were sent. Requests that were never sent
-- did not fail and are not counted.
-- group: runs
with sent as (
    select
        run_id,
        count(*) as requests
    from staging.requests
    where is_sent
        and not is_warm_up
    group by run_id
)

select
    failures.run_id,
    failures.failure,
    failures.requests,
    failures.requests / sent.requests as failed_ratio,
    failures.example
from marts.failures
inner join sent using (run_id)
order by
    failed_ratio desc,
    failures.run_id,
    failures.failure
