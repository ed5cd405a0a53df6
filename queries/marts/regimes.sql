-- One row per run that decoded: what limits its decoding, as far as that is known.
--
-- The prediction says how much of the time per token is streaming weights and KV cache. That is no proof: only the counter
-- DRAM_ACTIVE shows that memory was busy. It is compared with the floor's share of the prediction: 0.7 of that confirms the
-- label, less refutes it, and without the counter the label is not confirmed. GPU utilization (SM_ACTIVE) proves nothing and is not used.
-- Kept per run.
-- group: diagnosis
-- run_id              the replay
-- is_memory_bound     half of the predicted time or more is streaming; null without a prediction
-- is_confirmed        DRAM_ACTIVE agrees; false: it does not; null: not measured, or nothing to confirm
-- memory_term_ratio   share of weights and KV cache in the prediction
-- dram_active_ratio   share of the time in which memory was read or written, while the GPU worked
-- expected_ratio      the least that the prediction expects of it
-- slowdown_ratio      measured over predicted time per token
-- words               the same in a sentence
select
    run_id,
    value_of['memory_term_ratio'] >= 0.5e0 as is_memory_bound,
    case
        when value_of['memory_term_ratio'] >= 0.5e0
            then value_of['dram_active_ratio'] >= 0.7e0 * value_of['predicted_floor_share_ratio']
    end as is_confirmed,
    value_of['memory_term_ratio'] as memory_term_ratio,
    value_of['dram_active_ratio'] as dram_active_ratio,
    0.7e0 * value_of['predicted_floor_share_ratio'] as expected_ratio,
    value_of['slowdown_ratio'] as slowdown_ratio,
    macros.regime_text(value_of) as words
from (
    select
        run_id,
        map_from_entries(list((figure, value))) as value_of
    from (
        select * from marts.evidence_decode
        union all
        select * from marts.evidence_server where figure = 'dram_active_ratio'
    ) as known
    group by run_id
) as figures
where value_of['tpot_s'] is not null
