-- One row per successful request that streamed at least two tokens, not all in one
-- chunk (warm-up left out): its time per token beside what the memory allows and what the model predicts, at
-- the batch and context that it really shared.
--
-- Between two changes of the batch a step's time y is known, so the request would have
-- made dt / y steps there. Its predicted decode time is T over the sum of these: a
-- harmonic mean, so that the floor is a true bound whenever each step is above its own
-- floor. Terms are weighted by the same steps and add up to the prediction. The
-- prefill of others is added as seconds per token: each prompt's work, as predicted, is laid
-- just before its first token, and what falls between the request's first and last token
-- counts, whatever the measured steps took. Uncached tokens are prompt less what the
-- server says it had; when it does not say, nothing was cached.
-- run_id                  the replay
-- seq                     the request's place in its plan
-- is_simulated            measured on a simulated server
-- first_token_s           when its decoding began, seconds since the run began
-- tpot_s                  measured mean gap between tokens, seconds
-- floor_tpot_s            predicted: step bytes over peak bandwidth, seconds; null without a known deployment, as are all terms
-- predicted_tpot_s        predicted: the sum of the terms, seconds
-- slowdown_ratio          tpot_s / predicted_tpot_s
-- floor_ratio             tpot_s / floor_tpot_s; 1 is as fast as memory allows
-- mean_batch              requests that decoded at the same time, itself included
-- mean_context_tokens     mean context of one of these, tokens
-- prefill_tokens_shared   uncached prompt tokens of others whose first token came while it decoded, tokens
-- decode_tokens           tokens after the first: the weight of the row in a mean over tokens
-- weights_s               term: streaming weights, seconds
-- kv_s                    term: reading the KV cache, seconds
-- arithmetic_s            term: what multiplying adds to streaming, seconds
-- layers_s                term: fixed time of the layers, seconds
-- allreduce_s             term: all-reduces between GPUs, seconds
-- host_s                  term: scheduling and sampling, seconds
-- prefill_s               term: prompts of others that were computed in between, seconds
with steps as (
    select
        run_id,
        begin_s,
        batch,
        end_s - begin_s as length_s,
        (begin_context_tokens + end_context_tokens) / 2 as context_tokens,
        (end_s - begin_s) * macros.mean_inverse(begin_floor_s, end_floor_s) as floor_steps,
        (end_s - begin_s) * macros.mean_inverse(begin_decode_s, end_decode_s) as steps,
        weights_s,
        arithmetic_s,
        layers_s,
        allreduce_s,
        host_s
    from marts.decode_segments
),

-- Integrals from the run's begin up to each instant.
integrals as (
    select
        run_id,
        begin_s as at_s,
        batch,
        sum(batch * length_s) over before as batch_seconds,
        sum(context_tokens * length_s) over before as context_seconds,
        sum(floor_steps) over before as floor_steps,
        sum(steps) over before as steps,
        sum(steps * weights_s) over before as weights_s,
        sum(steps * arithmetic_s) over before as arithmetic_s,
        sum(steps * layers_s) over before as layers_s,
        sum(steps * allreduce_s) over before as allreduce_s,
        sum(steps * host_s) over before as host_s
    from steps
    window before as (
        partition by run_id order by begin_s rows between unbounded preceding and 1 preceding
    )
),

prompt_tokens as (
    select
        run_id,
        first_token_s,
        coalesce(cached_tokens, 0) as cached_tokens,
        -- The last token of a prompt is always computed.
        greatest(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0), 1) as uncached_tokens
    from staging.requests
    where first_token_s is not null
),

prompts as (
    select
        prompt_tokens.run_id,
        prompt_tokens.first_token_s,
        prompt_tokens.uncached_tokens,
        d.prefill_share * macros.prompt_s(
            d, greatest(integrals.batch, 1), prompt_tokens.uncached_tokens, prompt_tokens.cached_tokens
        ) as work_s
    from prompt_tokens
    inner join integrals
        on integrals.run_id = prompt_tokens.run_id and integrals.at_s = prompt_tokens.first_token_s
    left join staging.deployments as d on d.run_id = prompt_tokens.run_id
),

-- Each prompt is worked on at the rate of one second a second until its first token.
prefill_changes as (
    select
        run_id,
        first_token_s - work_s as at_s,
        1 as rate,
        0 as tokens
    from prompts
    where work_s is not null
    union all
    select
        run_id,
        first_token_s,
        case when work_s is null then 0 else -1 end,
        uncached_tokens
    from prompts
    union all
    select
        run_id,
        last_token_s,
        0,
        0
    from staging.requests
    where last_token_s is not null
),

prefill_instants as (
    select
        run_id,
        at_s,
        sum(rate) as rate,
        sum(tokens) as tokens
    from prefill_changes
    group by
        run_id,
        at_s
),

prefill_stretches as (
    select
        run_id,
        at_s,
        lead(at_s) over in_time - at_s as length_s,
        sum(rate) over in_time as rate,
        sum(tokens) over in_time as tokens
    from prefill_instants
    window in_time as (partition by run_id order by at_s)
),

prefills as (
    select
        run_id,
        at_s,
        tokens,
        coalesce(sum(rate * length_s) over before, 0) as work_s
    from prefill_stretches
    window before as (
        partition by run_id order by at_s rows between unbounded preceding and 1 preceding
    )
),

measured as (
    select
        requests.run_id,
        requests.seq,
        runs.is_simulated,
        requests.first_token_s,
        requests.tpot_s,
        requests.received_tokens - 1 as decode_tokens,
        requests.last_token_s - requests.first_token_s as decode_s,
        ended.batch_seconds - coalesce(begun.batch_seconds, 0) as batch_seconds,
        ended.context_seconds - coalesce(begun.context_seconds, 0) as context_seconds,
        ended.floor_steps - coalesce(begun.floor_steps, 0) as floor_steps,
        ended.steps - coalesce(begun.steps, 0) as steps,
        ended.weights_s - coalesce(begun.weights_s, 0) as weights_s,
        ended.arithmetic_s - coalesce(begun.arithmetic_s, 0) as arithmetic_s,
        ended.layers_s - coalesce(begun.layers_s, 0) as layers_s,
        ended.allreduce_s - coalesce(begun.allreduce_s, 0) as allreduce_s,
        ended.host_s - coalesce(begun.host_s, 0) as host_s,
        prefills_until.work_s - prefills_before.work_s as prefill_s,
        prefills_until.tokens - prefills_before.tokens as prefill_tokens
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    inner join integrals as begun on begun.run_id = requests.run_id and begun.at_s = requests.first_token_s
    inner join integrals as ended on ended.run_id = requests.run_id and ended.at_s = requests.last_token_s
    inner join prefills as prefills_before
        on prefills_before.run_id = requests.run_id and prefills_before.at_s = requests.first_token_s
    inner join prefills as prefills_until
        on prefills_until.run_id = requests.run_id and prefills_until.at_s = requests.last_token_s
    where requests.tpot_s > 0
        and requests.is_success
        and not requests.is_warm_up
),

per_token as (
    select
        run_id,
        seq,
        is_simulated,
        first_token_s,
        tpot_s,
        decode_s / floor_steps as floor_tpot_s,
        decode_s / steps as decode_tpot_s,
        batch_seconds / decode_s as mean_batch,
        context_seconds / batch_seconds as mean_context_tokens,
        prefill_tokens,
        decode_tokens,
        weights_s / steps as weights_s,
        arithmetic_s / steps as arithmetic_s,
        layers_s / steps as layers_s,
        allreduce_s / steps as allreduce_s,
        host_s / steps as host_s,
        case when steps is not null then greatest(prefill_s, 0) / decode_tokens end as prefill_s
    from measured
)

select
    run_id,
    seq,
    is_simulated,
    first_token_s,
    tpot_s,
    floor_tpot_s,
    decode_tpot_s + prefill_s as predicted_tpot_s,
    tpot_s / (decode_tpot_s + prefill_s) as slowdown_ratio,
    tpot_s / floor_tpot_s as floor_ratio,
    mean_batch,
    mean_context_tokens,
    prefill_tokens as prefill_tokens_shared,
    decode_tokens,
    weights_s,
    decode_tpot_s - weights_s - arithmetic_s - layers_s - allreduce_s - host_s as kv_s,
    arithmetic_s,
    layers_s,
    allreduce_s,
    host_s,
    prefill_s
from per_token
