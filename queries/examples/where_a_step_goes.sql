-- Where did the time of the engine go, and which kind of step is slow?
--
-- One row per run and kind of step, of the time with requests in flight: decoding alone, with prompts, prompts alone, and the time in which the GPU
-- waited. slowdown_ratio is measured over predicted, of the steps whose time is known. Runs without steps of their engine have no rows: ingest the
-- server's log with --run.
-- group: tpot
select
    run_id,
    kind,
    sum(steps) as steps,
    sum(time_ratio) as time_ratio,
    sum(step_s * steps) / sum(predicted_step_s * steps) as slowdown_ratio
from marts.step_kinds
group by
    run_id,
    kind
order by
    run_id,
    time_ratio desc
