-- One row per successful request that streamed at least two tokens, not all in one chunk (warm-up left out): its time per token
-- compared with what the memory allows and with what the model predicts, at the batch and context that it really shared. A request of a class
-- that asks for another model than the run's is left out: its deployment is not known (marts.served_models has it).
--
-- The predicted time per token is the request's decode time divided by the number of steps that the engine would have made in it
-- (marts.decode_integrals). That is a harmonic mean, so the floor is a true bound if each step is above its own floor. Terms are weighted by
-- the same steps and add up to the prediction. Prefill of other requests is added in seconds per token: all of it between the request's
-- first and last token counts.
-- Kept per run.
-- group: tpot
-- run_id                  the replay
-- seq                     the request's place in its plan
-- is_simulated            measured on a simulated server
-- class                   what the trace calls its kind
-- first_token_s           when its decoding began, seconds since the run began
-- tpot_s                  measured mean gap between tokens, seconds
-- floor_tpot_s            predicted: step bytes over peak bandwidth, seconds; null without a known deployment, as are all terms
-- predicted_tpot_s        predicted: the sum of the terms, seconds
-- residual_s              tpot_s - predicted_tpot_s: what the model does not explain, seconds
-- is_in_band              tpot_s lies in the 90 % band of the prediction: from predicted / (1 + band_ratio) to predicted * (1 + band_ratio)
-- slowdown_ratio          tpot_s / predicted_tpot_s
-- floor_ratio             tpot_s / floor_tpot_s; 1 is as fast as memory allows
-- mean_batch              requests that decoded at the same time, itself included, mean over the time that it decoded
-- mean_context_tokens     mean context of one of these, tokens
-- prefill_tokens_shared   uncached prompt tokens of others whose first token came while it decoded, tokens
-- decode_tokens           tokens after the first: the weight of the row in a mean over tokens
-- weights_s               term: streaming all weights but the experts, seconds
-- experts_s               term: experts and their routing, seconds
-- kv_s                    term: reading the KV cache, and states of constant size, seconds
-- arithmetic_s            term: what multiplying adds to streaming, seconds
-- layers_s                term: fixed time of the layers, seconds
-- allreduce_s             term: all-reduces between GPUs, seconds
-- host_s                  term: scheduling and sampling, seconds
-- prefill_s               term: prompts of others that were computed in between, seconds
with measured as (
    select
        run_id,
        seq,
        class,
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
        and not is_unpredicted
        and tpot_s > 0
),

totals as (
    select
        measured.run_id,
        measured.seq,
        any_value(measured.class) as class,
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
        totals.first_token_s,
        totals.tpot_s,
        totals.decode_tokens,
        d.band_ratio,
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
    left join staging.deployments as d on d.run_id = totals.run_id
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
    per_token.seq,
    runs.is_simulated,
    per_token.class,
    per_token.first_token_s,
    per_token.tpot_s,
    per_token.floor_tpot_s,
    per_token.predicted_tpot_s,
    per_token.tpot_s - per_token.predicted_tpot_s as residual_s,
    macros.is_in_band(per_token.tpot_s, per_token.predicted_tpot_s, per_token.band_ratio) as is_in_band,
    per_token.tpot_s / per_token.predicted_tpot_s as slowdown_ratio,
    per_token.tpot_s / per_token.floor_tpot_s as floor_ratio,
    per_token.mean_batch,
    per_token.mean_context_tokens,
    per_token.prefill_tokens as prefill_tokens_shared,
    per_token.decode_tokens,
    per_token.weights_s,
    per_token.experts_s,
    per_token.kv_s,
    per_token.arithmetic_s,
    per_token.layers_s,
    per_token.allreduce_s,
    per_token.host_s + per_token.rest_s - per_token.kv_s + per_token.predicted_tpot_s - per_token.decode_tpot_s - per_token.prefill_s as host_s,
    per_token.prefill_s
from rests as per_token
inner join staging.runs on runs.run_id = per_token.run_id
