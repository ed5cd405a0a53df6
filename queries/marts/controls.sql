-- One row per control replay, beside the run whose requests have their own lengths: what average lengths promised, and what the real ones took.
--
-- A control sends the same arrivals with the average lengths of its plan (lengths = 'mean'). Its other run is of the same trace, scaling, mode and number
-- of requests, model, GPUs, format and origin; of several it is the one nearest in time. Searches for capacity with average lengths are in
-- marts.capacity_pairs.
-- group: runs
-- run_id                    the run with the requests' own lengths
-- control_run_id            the control, with average lengths
-- source_name               the trace or profile of both
-- mode                      of both: 'open', 'sessions' or 'closed'
-- origin                    of both: 'measured', 'simulated' or 'rehearsed'
-- planned                   requests of each
-- is_valid                  both runs are
-- p99_ttft_s                of the run: time to first token from sent, seconds
-- promised_p99_ttft_s       the same of the control
-- ttft_ratio                p99_ttft_s / promised_p99_ttft_s
-- p99_ttft_from_due_s       of the run: time to first token from due, seconds
-- promised_p99_ttft_from_due_s  the same of the control
-- p99_tpot_s                of the run: time per token after the first, seconds
-- promised_p99_tpot_s       the same of the control
-- tpot_ratio                p99_tpot_s / promised_p99_tpot_s
-- accepted_ratio            of the run: share of requests within every objective of their class; null without an SLO
-- promised_accepted_ratio   the same of the control
-- goodput_per_s             of the run: accepted requests per second; null without an SLO
-- promised_goodput_per_s    the same of the control
with pairs as (
    select
        own.run_id,
        control.run_id as control_run_id
    from staging.runs as control
    inner join staging.runs as own
        on own.source_sha256 = control.source_sha256
        and own.speed is not distinct from control.speed
        and own.thin is not distinct from control.thin
        and own.thicken is not distinct from control.thicken
        and own.planned_requests is not distinct from control.planned_requests
        and own.mode = control.mode
        and own.max_concurrency is not distinct from control.max_concurrency
        and coalesce(own.catalog_model, own.served_model) is not distinct from coalesce(control.catalog_model, control.served_model)
        and own.gpu is not distinct from control.gpu
        and own.tensor_parallel_size is not distinct from control.tensor_parallel_size
        and own.quantization is not distinct from control.quantization
        and own.origin = control.origin
    where control.lengths = 'mean'
        and own.lengths = 'own'
        and control.has_ended
        and own.has_ended
    qualify row_number() over (
        partition by control.run_id
        order by abs(epoch(own.started_at) - epoch(control.started_at)), own.started_at, own.run_id
    ) = 1
)

select
    pairs.run_id,
    pairs.control_run_id,
    own.source_name,
    own.mode,
    own.origin,
    own.planned,
    own.is_valid and control.is_valid as is_valid,
    own.p99_ttft_s,
    control.p99_ttft_s as promised_p99_ttft_s,
    own.p99_ttft_s / nullif(control.p99_ttft_s, 0) as ttft_ratio,
    own.p99_ttft_from_due_s,
    control.p99_ttft_from_due_s as promised_p99_ttft_from_due_s,
    own.p99_tpot_s,
    control.p99_tpot_s as promised_p99_tpot_s,
    own.p99_tpot_s / nullif(control.p99_tpot_s, 0) as tpot_ratio,
    own_goodput.accepted_ratio,
    control_goodput.accepted_ratio as promised_accepted_ratio,
    own_goodput.goodput_per_s,
    control_goodput.goodput_per_s as promised_goodput_per_s
from pairs
inner join marts.runs as own on own.run_id = pairs.run_id
inner join marts.runs as control on control.run_id = pairs.control_run_id
left join marts.goodput as own_goodput on own_goodput.run_id = pairs.run_id
left join marts.goodput as control_goodput on control_goodput.run_id = pairs.control_run_id
