-- One row per run, kind of step and bucket of its batch: where the time with requests in flight went, and how long the steps took compared with
-- their prediction; and one of the time in which the GPU waited while requests were in flight.
--
-- By the engine's clock shares are measured. Otherwise steps have the share that the terms of the GPU predict for them, and what is left is idle;
-- it is 0 where the prediction is too slow, and not known of several ranks whose steps are counted: one of them may have no requests. A sampled
-- source has no shares. Ratios are over the rows of marts.step_gap with a measured step.
-- Kept per run with steps.
-- group: tpot
-- run_id               the replay
-- measured_by          'elapsed', 'instants' or 'counts', as in marts.step_gap
-- kind                 'decode', 'mixed', 'prefill', or 'idle'
-- batch_up_to          largest batch of the bucket, a power of two: requests that decode, of 'prefill' those of which tokens are computed; 0 for 'idle'
-- steps                how many; 0 for 'idle'
-- time_ratio           share of the time with requests in flight; null for a sample, and for 'idle' without the engine's clock or a prediction
-- measured_rows        rows of marts.step_gap with a measured step
-- step_s               their mean step, seconds
-- predicted_step_s     predicted for the same, seconds
-- p50_slowdown_ratio   measured over predicted, median
-- p99_slowdown_ratio   the same, 99th percentile; null below 100 rows
with bucketed as (
    select
        *,
        pow(2, ceil(log2(case when kind = 'prefill' then prefill_requests else decode_requests end)))::bigint as batch_up_to,
        case when measured_by = 'elapsed' then steps * step_s else steps * gpu_s end as worked_s
    from marts.step_gap
),

runs as (
    select
        run_id,
        measured_by,
        sum(busy_s) as busy_s,
        count(distinct hash(source_id, engine, rank)) as ranks,
        sum(worked_s) as worked_s,
        count(*) = count(worked_s) as is_known
    from bucketed
    group by
        run_id,
        measured_by
)

select
    bucketed.run_id,
    bucketed.measured_by,
    bucketed.kind,
    bucketed.batch_up_to,
    sum(bucketed.steps)::bigint as steps,
    case
        when any_value(runs.busy_s) is null then null
        when any_value(runs.is_known) then sum(bucketed.worked_s) / any_value(greatest(runs.busy_s, runs.worked_s))
        else sum(bucketed.busy_s) / any_value(runs.busy_s)
    end as time_ratio,
    count(bucketed.step_s) as measured_rows,
    sum(bucketed.step_s * bucketed.steps) / nullif(sum(bucketed.steps) filter (where bucketed.step_s is not null), 0) as step_s,
    sum(bucketed.predicted_step_s * bucketed.steps) filter (where bucketed.step_s is not null)
    / nullif(sum(bucketed.steps) filter (where bucketed.step_s is not null), 0) as predicted_step_s,
    quantile_cont(bucketed.slowdown_ratio, 0.5) as p50_slowdown_ratio,
    macros.p99_of(quantile_cont(bucketed.slowdown_ratio, [0.5, 0.99]), count(bucketed.slowdown_ratio)) as p99_slowdown_ratio
from bucketed
inner join runs on runs.run_id = bucketed.run_id and runs.measured_by = bucketed.measured_by
group by
    bucketed.run_id,
    bucketed.measured_by,
    bucketed.kind,
    bucketed.batch_up_to
union all
select
    run_id,
    measured_by,
    'idle',
    0,
    0,
    case when is_known then greatest(0, 1 - worked_s / busy_s) end,
    0,
    null,
    null,
    null,
    null
from runs
where busy_s is not null
    and (measured_by <> 'counts' or ranks = 1)
