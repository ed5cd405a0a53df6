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
-- predicted_p50_tpot_s    median over its requests of the predicted time per token (marts.tpot_gap), seconds: the model on its own deployment, with its
--                     own requests alone
-- slowdown_ratio      median over its requests of measured / predicted time per token
-- unpredicted_because  why nothing is predicted of it; null where something is, or nothing was measured
with per_model as (
    select
        requests.run_id,
        coalesce(requests.other_model, runs.served_model) as model,
        any_value(runs) as run,
        bool_or(requests.other_model is null) as is_own,
        count(*) as requests,
        count(*) filter (where requests.is_success) as completed,
        count(*) filter (where requests.failure is not null) as failed,
        coalesce(sum(requests.received_tokens) filter (where requests.is_success), 0)::bigint as output_tokens,
        count(requests.tpot_s) filter (where requests.is_success) as with_tpot,
        quantile_cont(requests.ttft_from_due_s, [0.5, 0.99]) filter (where requests.is_success) as ttft,
        quantile_cont(requests.tpot_s, [0.5, 0.99]) filter (where requests.is_success) as tpot,
        quantile_cont(requests.e2e_from_due_s, [0.5, 0.99]) filter (where requests.is_success) as e2e,
        median(gaps.gap.predicted_tpot_s) as predicted_tpot_s,
        median(gaps.gap.slowdown_ratio) as slowdown_ratio
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    left join marts.model_tpot_gap as gaps on gaps.run_id = requests.run_id and gaps.gap.seq = requests.seq
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
    predicted_tpot_s as predicted_p50_tpot_s,
    slowdown_ratio,
    case
        when slowdown_ratio is not null or with_tpot = 0 then null
        when not is_own and not coalesce(map_contains(run.environments, model), false) then 'its deployment is not named (--class-environment), or its server runs with what is not modelled'
        when not is_own then 'the catalogue lacks its GPU, model or format'
        when run.speculative_tokens > 0 then 'its server guesses tokens ahead'
        when run.is_draft then 'its deployment is not named (--gpu, --catalog-model)'
        when run.unmodelled is not null then 'its server runs with ' || run.unmodelled
        else 'the catalogue lacks its GPU, model or format'
    end as unpredicted_because
from per_model
window of_run as (partition by run_id)
