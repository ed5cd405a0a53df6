-- One row per run and turn of its sessions, with the means that tables of multi-turn loads usually show. Requests without a session are left
-- out, and so is warm-up; latencies are over successful requests.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- turn                 0-based place in the session
-- requests             requests planned
-- completed            of these, successful
-- mean_input_tokens    prompt as planned, tokens
-- mean_output_tokens   tokens received, of successful requests
-- mean_cached_tokens   prompt tokens that the server says it had; null where it does not say
-- mean_ttft_from_due_s  time to first token from due, seconds
-- p50_ttft_from_due_s  the same, median
-- mean_e2e_from_due_s  whole answer from due, seconds
-- p50_e2e_from_due_s   the same, median
select
    run_id,
    turn,
    count(*) as requests,
    count(*) filter (where is_success) as completed,
    avg(input_tokens) as mean_input_tokens,
    avg(received_tokens) filter (where is_success) as mean_output_tokens,
    avg(cached_tokens) filter (where is_success) as mean_cached_tokens,
    avg(ttft_from_due_s) filter (where is_success) as mean_ttft_from_due_s,
    median(ttft_from_due_s) filter (where is_success) as p50_ttft_from_due_s,
    avg(e2e_from_due_s) filter (where is_success) as mean_e2e_from_due_s,
    median(e2e_from_due_s) filter (where is_success) as p50_e2e_from_due_s
from staging.requests
where session_id is not null
    and turn is not null
    and not is_warm_up
group by
    run_id,
    turn
