-- One row per replay in a closed loop that used a slot at least twice: the requests that it kept in flight compared with the number asked
-- for. Warm-up is included.
--
-- Only the time between the first use of every slot and the last request sent counts: the ramp before and the drain after are
-- nobody's fault. If fewer are in flight in between, the client lost what it sent late, and the plan the rest, because its next turn was not
-- due yet.
-- replay/closedloop.go says the same by the same rule.
-- Kept per run.
-- group: runs
-- run_id                   the replay
-- asked                    requests to be in flight
-- from_s, until_s          the time that counts, seconds since the run began
-- mean_in_flight           requests in flight in that time
-- kept_concurrency_ratio   mean_in_flight / asked
-- late_ratio               share of the slots' time that was lost because the client sent late
-- is_kept                  the client lost no more than 1 %
with turns as (
    select
        requests.run_id,
        runs.max_concurrency as asked,
        requests.sent_s - requests.lateness_s as free_s,
        requests.sent_s,
        coalesce(requests.done_s, requests.last_token_s, requests.sent_s) as done_s,
        row_number() over (partition by requests.run_id order by requests.sent_s, requests.seq) as place
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where runs.mode = 'closed'
        and requests.is_sent
),

spans as (
    select
        run_id,
        asked,
        max(sent_s) filter (where place = asked) as from_s,
        max(sent_s) as until_s
    from turns
    group by
        run_id,
        asked
    having max(sent_s) > max(sent_s) filter (where place = asked)
),

lengths as (
    select
        spans.run_id,
        spans.asked,
        spans.from_s,
        spans.until_s,
        sum(greatest(least(turns.done_s, spans.until_s) - greatest(turns.sent_s, spans.from_s), 0)) / (spans.until_s - spans.from_s) as mean_in_flight,
        sum(greatest(least(turns.sent_s, spans.until_s) - greatest(turns.free_s, spans.from_s), 0)) / (spans.until_s - spans.from_s) as mean_late
    from spans
    inner join turns on turns.run_id = spans.run_id
    group by
        spans.run_id,
        spans.asked,
        spans.from_s,
        spans.until_s
)

select
    run_id,
    asked,
    from_s,
    until_s,
    mean_in_flight,
    mean_in_flight / asked as kept_concurrency_ratio,
    mean_late / asked as late_ratio,
    mean_late / asked <= 1e-2 as is_kept
from lengths
