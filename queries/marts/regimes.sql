-- One row per run that decoded: what binds its decoding, as far as that is known.
--
-- The prediction says how much of the time per token is streaming weights and KV cache. That is no proof: only the counter
-- DRAM_ACTIVE shows that memory was busy. It is held against the floor's share of the prediction: 0.7 of that confirms the
-- label, less refutes it, and without the counter the label is not confirmed. GPU utilization (SM_ACTIVE) is not looked at.
-- run_id              the replay
-- is_memory_bound     half of the predicted time or more is streaming; null without a prediction
-- is_confirmed        DRAM_ACTIVE agrees; false: it does not; null: not measured, or nothing to confirm
-- memory_term_ratio   share of weights and KV cache in the prediction
-- dram_active_ratio   share of the time in which memory was read or written, while the GPU worked
-- expected_ratio      the same at the least, by the prediction
-- slowdown_ratio      measured over predicted time per token
-- words               the same in a sentence
with known as (
    select
        decode.run_id,
        max(decode.value) filter (where decode.figure = 'memory_term_ratio') as memory_term_ratio,
        max(decode.value) filter (where decode.figure = 'predicted_floor_share_ratio') as floor_share_ratio,
        max(decode.value) filter (where decode.figure = 'slowdown_ratio') as slowdown_ratio,
        any_value(server.value) as dram_active_ratio
    from marts.evidence_decode as decode
    left join marts.evidence_server as server on server.run_id = decode.run_id and server.figure = 'dram_active_ratio'
    group by decode.run_id
)

select
    run_id,
    memory_term_ratio >= 0.5e0 as is_memory_bound,
    case when memory_term_ratio >= 0.5e0 then dram_active_ratio >= 0.7e0 * floor_share_ratio end as is_confirmed,
    memory_term_ratio,
    dram_active_ratio,
    0.7e0 * floor_share_ratio as expected_ratio,
    slowdown_ratio,
    case
        when memory_term_ratio is null
            then 'what binds decoding is not known: the run has no environment that the model knows'
        when memory_term_ratio < 0.5e0
            then 'decoding is not memory-bound by its prediction: streaming weights and KV cache is ' || macros.percent_text(memory_term_ratio) || ' of it'
        when dram_active_ratio is null
            then 'decoding is memory-bound by its prediction (streaming weights and KV cache is ' || macros.percent_text(memory_term_ratio)
                || ' of it); not confirmed: DRAM_ACTIVE was not measured'
        when dram_active_ratio >= 0.7e0 * floor_share_ratio
            then 'decoding is memory-bound: streaming weights and KV cache is ' || macros.percent_text(memory_term_ratio)
                || ' of its prediction; confirmed by DRAM_ACTIVE ' || macros.percent_text(dram_active_ratio)
        else 'decoding is not memory-bound, whatever its prediction: DRAM_ACTIVE is ' || macros.percent_text(dram_active_ratio)
            || ' where ' || macros.percent_text(0.7e0 * floor_share_ratio) || ' is the least expected'
    end || coalesce('; time per token ' || macros.figures(slowdown_ratio) || ' times its prediction', '') as words
from known
