-- One row per run and class of its requests: the class's share of the load, and how it was served. A few long requests can hold most of
-- the tokens. Warm-up is left out; percentiles are over successful requests.
-- Kept per run.
-- group: runs
-- run_id              the replay
-- class               what the trace or profile calls it; null where requests have none
-- requests            requests planned
-- request_ratio       of all planned
-- token_ratio         share of all planned tokens, prompts and answers
-- p50_input_tokens, p99_input_tokens           prompt as planned, tokens; p99 null below 100 requests
-- p50_output_tokens, p99_output_tokens         answer as planned, tokens
-- completed           requests that succeeded
-- failed              requests that failed
-- p50_ttft_from_due_s, p99_ttft_from_due_s     time to first token from due, seconds; p99 null below 100 samples
-- p50_tpot_s, p99_tpot_s                       time per token after the first, seconds
-- p50_e2e_from_due_s, p99_e2e_from_due_s       whole answer from due, seconds
with per_class as (
    select
        run_id,
        class,
        count(*) as requests,
        sum(input_tokens + output_tokens) as tokens,
        quantile_cont(input_tokens, [0.5, 0.99]) as input_tokens,
        quantile_cont(output_tokens, [0.5, 0.99]) as output_tokens,
        count(*) filter (where is_success) as completed,
        count(*) filter (where failure is not null) as failed,
        count(tpot_s) filter (where is_success) as with_tpot,
        quantile_cont(ttft_from_due_s, [0.5, 0.99]) filter (where is_success) as ttft,
        quantile_cont(tpot_s, [0.5, 0.99]) filter (where is_success) as tpot,
        quantile_cont(e2e_from_due_s, [0.5, 0.99]) filter (where is_success) as e2e
    from staging.requests
    where not is_warm_up
    group by
        run_id,
        class
)

select
    run_id,
    class,
    requests,
    requests / sum(requests) over of_run as request_ratio,
    tokens / sum(tokens) over of_run as token_ratio,
    input_tokens[1] as p50_input_tokens,
    macros.p99_of(input_tokens, requests) as p99_input_tokens,
    output_tokens[1] as p50_output_tokens,
    macros.p99_of(output_tokens, requests) as p99_output_tokens,
    completed,
    failed,
    ttft[1] as p50_ttft_from_due_s,
    macros.p99_of(ttft, completed) as p99_ttft_from_due_s,
    tpot[1] as p50_tpot_s,
    macros.p99_of(tpot, with_tpot) as p99_tpot_s,
    e2e[1] as p50_e2e_from_due_s,
    macros.p99_of(e2e, completed) as p99_e2e_from_due_s
from per_class
window of_run as (partition by run_id)
