-- One row per step of an engine's rank: those of runs as in staging.run_steps, and those of which no run is known, whose instants are since their
-- source began. A step of two runs that shared a server has two rows.
-- group: server
-- run_id                   the replay; null: none is known
-- source_id                where the step is from
-- engine                   worker, as the source calls it; '' where it is of one server
-- rank                     data-parallel rank
-- seq                      number that the engine gave it
-- at_s                     when it ended, seconds since the run began, or its source
-- elapsed_s                how long it took, as the engine says, seconds
-- clock                    what elapsed_s is: 'gpu', 'submit': of handing steps over; or 'unknown'
-- prefill_requests         requests of which prompt tokens were computed
-- prefill_tokens           these tokens
-- prefill_kv_tokens        tokens of the same prompts that were in the KV cache before; null: not said
-- decode_requests          requests that decoded
-- decode_tokens            tokens computed for them: with drafts more than one each
-- decode_kv_tokens         sum of their contexts, tokens; null: not known
-- is_kv_from_requests      contexts are those of the run's requests; false: the source says them, or nobody
-- queued_requests          requests that waited; null: not said
-- kv_usage_ratio           share of the KV cache in use; null: not said
select
    run_id,
    source_id,
    engine,
    rank,
    seq,
    at_s,
    elapsed_s,
    clock,
    prefill_requests,
    prefill_tokens,
    prefill_kv_tokens,
    decode_requests,
    decode_tokens,
    decode_kv_tokens,
    is_kv_from_requests,
    queued_requests,
    kv_usage_ratio
from staging.run_steps
union all
select
    null,
    steps.source_id,
    steps.engine,
    steps.rank,
    steps.seq,
    steps.at_ns / 1e9,
    steps.elapsed_s,
    'unknown',
    steps.prefill_requests,
    steps.prefill_tokens,
    steps.prefill_kv_tokens,
    steps.decode_requests,
    steps.decode_tokens,
    steps.decode_kv_tokens,
    false,
    steps.queued_requests,
    steps.kv_usage_ratio
from raw.steps
where not steps.is_dummy
    and not exists (
        from raw.step_joins as joins
        where joins.source_id = steps.source_id
            and steps.at_ns between (joins.offset_s + joins.begin_s) * 1e9 and (joins.offset_s + joins.end_s) * 1e9
    )
