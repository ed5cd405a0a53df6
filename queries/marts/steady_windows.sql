-- One row per run that has a steady part, and what it served in it. Warm-up is left out.
--
-- The rule: it begins when so much time has passed since the first request was sent as nine in ten requests take end to end, since by then what
-- is in flight no longer depends on the start; of a closed loop, also not before each slot was used once. It ends when the last request is
-- sent: after that the load falls. A run has no steady part where less than half of the time between its first and its last request is left.
-- Kept per run.
-- group: runs
-- run_id                     the replay
-- from_s, until_s            the steady part, seconds since the run began
-- steady_requests            requests that ended in it, successful
-- steady_request_per_s       of them per second of it
-- steady_output_token_per_s  their received tokens per second of it; null where the count of some is not known
with spans as (
    select
        run_id,
        min(sent_s) as first_s,
        max(sent_s) as last_s,
        quantile_cont(e2e_s, 0.9e0) filter (where is_success) as e2e_s
    from staging.requests
    where is_sent
        and not is_warm_up
    group by run_id
),

windows as (
    select
        spans.run_id,
        greatest(spans.first_s + spans.e2e_s, coalesce(closed_loops.from_s, spans.first_s)) as from_s,
        spans.last_s as until_s,
        spans.last_s - spans.first_s as sending_s
    from spans
    left join marts.closed_loops on closed_loops.run_id = spans.run_id
)

select
    windows.run_id,
    windows.from_s,
    windows.until_s,
    count(*) as steady_requests,
    count(*) / (windows.until_s - windows.from_s) as steady_request_per_s,
    case
        when count(requests.received_tokens) = count(*) then sum(requests.received_tokens) / (windows.until_s - windows.from_s)
    end as steady_output_token_per_s
from windows
inner join staging.requests
    on requests.run_id = windows.run_id
    and requests.is_success
    and not requests.is_warm_up
    and coalesce(requests.done_s, requests.last_token_s) between windows.from_s and windows.until_s
where windows.until_s - windows.from_s >= windows.sending_s / 2
    and windows.until_s > windows.from_s
group by
    windows.run_id,
    windows.from_s,
    windows.until_s
