-- Did the client keep time?
--
-- Lateness is when a request was sent less when it was due, without waits that a cap imposed. A run whose p99 is above its limit says
-- more about the client than about the server: is_valid is false, and invalid_reason says what to look at.
-- group: trust
select
    run_id,
    sent,
    p50_lateness_s,
    p99_lateness_s,
    max_lateness_s,
    lateness_limit_s,
    is_valid,
    invalid_reason
from marts.runs
order by
    p99_lateness_s desc nulls last,
    run_id
