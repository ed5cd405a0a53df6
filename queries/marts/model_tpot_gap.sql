-- One row per request that marts.tpot_gap compares, and per request of a class that asked for another model of a known deployment
-- (staging.model_deployments): compared in the same way with what that model's own requests shared.
-- Held while runs are computed.
-- group: tpot
-- run_id       the replay
-- other_model  the model that its class asked for instead of the run's own; '': the run's own
-- gap          the columns of marts.tpot_gap, as one value
with measured as (
    select
        run_id,
        seq,
        class,
        coalesce(other_model, '') as other_model,
        coalesce(endpoint, '') as endpoint,
        -- The instants of its first and its last token: what was in between is the difference.
        unnest([first_token_s, last_token_s]) as begin_s,
        unnest([-1, 1]) as sign,
        first_token_s,
        last_token_s - first_token_s as decode_s,
        tpot_s,
        received_tokens - 1 as decode_tokens,
        coalesce(input_tokens_reported, input_tokens) as input_tokens
    from staging.requests
    where is_success
        and not is_warm_up
        and (other_model is not null or not is_unpredicted)
        and tpot_s > 0
),

totals as (
    select
        measured.run_id,
        measured.seq,
        any_value(measured.class) as class,
        any_value(measured.other_model) as other_model,
        any_value(measured.first_token_s) as first_token_s,
        any_value(measured.tpot_s) as tpot_s,
        any_value(measured.decode_s) as decode_s,
        any_value(measured.decode_tokens) as decode_tokens,
        any_value(measured.input_tokens) as input_tokens,
        sum(sign * integrals.floor_steps) as floor_steps,
        sum(sign * integrals.steps) as steps,
        sum(sign * integrals.batch_seconds) as batch_seconds,
        sum(sign * integrals.context_seconds) as context_seconds,
        sum(sign * integrals.step_tokens) as step_tokens,
        sum(sign * integrals.experts_s) as experts_s,
        sum(sign * integrals.arithmetic_s) as arithmetic_s,
        sum(sign * integrals.allreduce_s) as allreduce_s,
        sum(sign * integrals.prefill_s) as prefill_s,
        sum(sign * integrals.prefill_tokens)::bigint as prefill_tokens
    from measured
    inner join marts.decode_integrals as integrals
        on integrals.run_id = measured.run_id
        and integrals.other_model = measured.other_model
        and integrals.endpoint = measured.endpoint
        and integrals.begin_s = measured.begin_s
    group by
        measured.run_id,
        measured.seq
),

per_token as (
    select
        totals.run_id,
        totals.seq,
        totals.class,
        totals.other_model,
        totals.first_token_s,
        totals.tpot_s,
        totals.decode_tokens,
        deployments.band_ratio,
        totals.decode_s / totals.floor_steps as floor_tpot_s,
        totals.decode_s / totals.steps as decode_tpot_s,
        totals.batch_seconds / totals.decode_s as mean_batch,
        totals.context_seconds / totals.batch_seconds as mean_context_tokens,
        totals.prefill_tokens,
        case when totals.steps is not null then macros.weights_s(d, 1) end as weights_s,
        totals.experts_s / totals.steps as experts_s,
        totals.arithmetic_s / totals.steps as arithmetic_s,
        case when totals.steps is not null then macros.layers_s(d) end as layers_s,
        totals.allreduce_s / totals.steps as allreduce_s,
        macros.host_s(d, totals.step_tokens / totals.steps) as host_s,
        case when totals.steps is not null then greatest(totals.prefill_s, 0) / totals.decode_tokens end as prefill_s,
        -- Steps that wait for the host are as long as it takes; what is beyond the KV cache is its time then.
        macros.kv_s(d, totals.context_seconds / totals.decode_s, totals.context_seconds / totals.decode_s)
        + macros.state_s(d, totals.batch_seconds / totals.decode_s) as most_kv_s,
        d.submit_s,
        macros.round_s(d, totals.batch_seconds / totals.decode_s, totals.input_tokens, totals.decode_tokens + 1) as round_s
    from totals
    left join staging.model_deployments as deployments
        on deployments.run_id = totals.run_id
        and deployments.other_model = totals.other_model
),

rests as (
    select
        *,
        decode_tpot_s - weights_s - experts_s - arithmetic_s - layers_s - allreduce_s - host_s as rest_s,
        case when decode_tpot_s > 1.001e0 * submit_s then rest_s else least(rest_s, most_kv_s) end as kv_s,
        greatest(decode_tpot_s + prefill_s, round_s) as predicted_tpot_s
    from per_token
)

select
    per_token.run_id,
    per_token.other_model,
    {
        'run_id': per_token.run_id,
        'seq': per_token.seq,
        'is_simulated': runs.is_simulated,
        'class': per_token.class,
        'first_token_s': per_token.first_token_s,
        'tpot_s': per_token.tpot_s,
        'floor_tpot_s': per_token.floor_tpot_s,
        'predicted_tpot_s': per_token.predicted_tpot_s,
        'residual_s': per_token.tpot_s - per_token.predicted_tpot_s,
        'is_in_band': macros.is_in_band(per_token.tpot_s, per_token.predicted_tpot_s, per_token.band_ratio),
        'slowdown_ratio': per_token.tpot_s / per_token.predicted_tpot_s,
        'floor_ratio': per_token.tpot_s / per_token.floor_tpot_s,
        'mean_batch': per_token.mean_batch,
        'mean_context_tokens': per_token.mean_context_tokens,
        'prefill_tokens_shared': per_token.prefill_tokens,
        'decode_tokens': per_token.decode_tokens,
        'weights_s': per_token.weights_s,
        'experts_s': per_token.experts_s,
        'kv_s': per_token.kv_s,
        'arithmetic_s': per_token.arithmetic_s,
        'layers_s': per_token.layers_s,
        'allreduce_s': per_token.allreduce_s,
        'host_s': per_token.host_s + per_token.rest_s - per_token.kv_s + per_token.predicted_tpot_s - per_token.decode_tpot_s - per_token.prefill_s,
        'prefill_s': per_token.prefill_s
    } as gap
from rests as per_token
inner join staging.runs on runs.run_id = per_token.run_id
