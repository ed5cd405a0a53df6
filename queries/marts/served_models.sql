-- One row per run and model that its requests asked for: its share of the load, and how it was served. A class may ask for a model of its own
-- (replay --class-model). Warm-up is left out; percentiles are over successful requests.
-- Kept per run.
-- group: runs
-- run_id              the replay
-- model               as the servers name it
-- requests            requests planned
-- request_ratio       of all planned
-- completed           requests that succeeded
-- failed              requests that failed
-- output_tokens       received, of successful requests
-- p50_ttft_from_due_s, p99_ttft_from_due_s     time to first token from due, seconds; p99 null below 100 samples
-- p50_tpot_s, p99_tpot_s                       time per token after the first, seconds
-- p50_e2e_from_due_s, p99_e2e_from_due_s       whole answer from due, seconds
-- slowdown_ratio      median over its requests of measured / predicted time per token (marts.tpot_gap); null of any model but the run's own, as the
--                     run's deployment says nothing of it
with per_model as (
    select
        requests.run_id,
        coalesce(runs.class_models[requests.class], runs.served_model) as model,
        count(*) as requests,
        count(*) filter (where requests.is_success) as completed,
        count(*) filter (where requests.failure is not null) as failed,
        coalesce(sum(requests.received_tokens) filter (where requests.is_success), 0)::bigint as output_tokens,
        count(requests.tpot_s) filter (where requests.is_success) as with_tpot,
        quantile_cont(requests.ttft_from_due_s, [0.5, 0.99]) filter (where requests.is_success) as ttft,
        quantile_cont(requests.tpot_s, [0.5, 0.99]) filter (where requests.is_success) as tpot,
        quantile_cont(requests.e2e_from_due_s, [0.5, 0.99]) filter (where requests.is_success) as e2e,
        median(gaps.slowdown_ratio) as slowdown_ratio
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    left join marts.tpot_gap as gaps on gaps.run_id = requests.run_id and gaps.seq = requests.seq
    where not requests.is_warm_up
    group by
        requests.run_id,
        model
)

select
    run_id,
    model,
    requests,
    requests / sum(requests) over of_run as request_ratio,
    completed,
    failed,
    output_tokens,
    ttft[1] as p50_ttft_from_due_s,
    macros.p99_of(ttft, completed) as p99_ttft_from_due_s,
    tpot[1] as p50_tpot_s,
    macros.p99_of(tpot, with_tpot) as p99_tpot_s,
    e2e[1] as p50_e2e_from_due_s,
    macros.p99_of(e2e, completed) as p99_e2e_from_due_s,
    slowdown_ratio
from per_model
window of_run as (partition by run_id)
