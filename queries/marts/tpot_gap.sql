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

-- Each request marks the instants at which it began and ended to decode, between the segments. One stream
-- instead of joins by instant: what is asked about one run is then worked out for that run alone.
marked as (
    select
        run_id,
        begin_s as at_s,
        1 as place,
        null as seq,
        null as is_last,
        null as request,
        batch,
        batch * length_s as batch_seconds,
        context_tokens * length_s as context_seconds,
        floor_steps,
        steps,
        steps * weights_s as weights_s,
        steps * arithmetic_s as arithmetic_s,
        steps * layers_s as layers_s,
        steps * allreduce_s as allreduce_s,
        steps * host_s as host_s
    from steps
    union all
    select
        run_id,
        unnest([first_token_s, last_token_s]),
        0,
        seq,
        unnest([false, true]),
        {
            first_token_s: first_token_s,
            decode_s: last_token_s - first_token_s,
            tpot_s: tpot_s,
            decode_tokens: received_tokens - 1,
            cached_tokens: coalesce(cached_tokens, 0),
            -- The last token of a prompt is always computed.
            uncached_tokens: greatest(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0), 1),
            is_measured: coalesce(tpot_s > 0, false) and is_success and not is_warm_up
        },
        null, null, null, null, null, null, null, null, null, null
    from staging.requests
    where first_token_s is not null
),

-- Integrals from the run's begin up to each instant; the batch is of the segment that begins there.
integrals as (
    select
        run_id,
        at_s,
        place,
        seq,
        is_last,
        request,
        max(batch) over (partition by run_id order by at_s range between current row and current row) as batch,
        sum(batch_seconds) over before as batch_seconds,
        sum(context_seconds) over before as context_seconds,
        sum(floor_steps) over before as floor_steps,
        sum(steps) over before as steps,
        sum(weights_s) over before as weights_s,
        sum(arithmetic_s) over before as arithmetic_s,
        sum(layers_s) over before as layers_s,
        sum(allreduce_s) over before as allreduce_s,
        sum(host_s) over before as host_s
    from marked
    where at_s is not null
    window before as (partition by run_id order by at_s, place rows unbounded preceding)
),

prompts as (
    select
        integrals.*,
        d.prefill_share * macros.prompt_s(
            d, greatest(integrals.batch, 1), integrals.request.uncached_tokens, integrals.request.cached_tokens
        ) as work_s
    from integrals
    left join staging.deployments as d on d.run_id = integrals.run_id
    where integrals.place = 0
),

-- Each prompt is worked on at the rate of one second a second until its first token.
prefill_changes as (
    select
        * exclude (work_s),
        unnest(case
            when is_last then [{at_s: at_s, rate: 0, tokens: 0, is_mark: true}]
            when work_s is null then [{at_s: at_s, rate: 0, tokens: request.uncached_tokens, is_mark: true}]
            else [
                {at_s: at_s - work_s, rate: 1, tokens: 0, is_mark: false},
                {at_s: at_s, rate: -1, tokens: request.uncached_tokens, is_mark: true}
            ]
        end) as change
    from prompts
),

-- What began at a and ended at b is b - a seconds of work: up to t it is the sum of rate x (t - at).
prefills as (
    select
        * exclude (change),
        change.is_mark as is_mark,
        change.at_s * sum(change.rate) over up_to - sum(change.rate * change.at_s) over up_to as work_s,
        sum(change.tokens) over up_to as tokens
    from prefill_changes
    window up_to as (partition by run_id order by change.at_s)
),

measured as (
    select
        run_id,
        seq,
        any_value(request) as request,
        macros.between_marks(batch_seconds, is_last) as batch_seconds,
        macros.between_marks(context_seconds, is_last) as context_seconds,
        macros.between_marks(floor_steps, is_last) as floor_steps,
        macros.between_marks(steps, is_last) as steps,
        macros.between_marks(weights_s, is_last) as weights_s,
        macros.between_marks(arithmetic_s, is_last) as arithmetic_s,
        macros.between_marks(layers_s, is_last) as layers_s,
        macros.between_marks(allreduce_s, is_last) as allreduce_s,
        macros.between_marks(host_s, is_last) as host_s,
        macros.between_marks(work_s, is_last) as prefill_s,
        macros.between_marks(tokens, is_last) as prefill_tokens
    from prefills
    where is_mark
        and request.is_measured
    group by
        run_id,
        seq
),

per_token as (
    select
        run_id,
        seq,
        request.first_token_s as first_token_s,
        request.tpot_s as tpot_s,
        request.decode_tokens as decode_tokens,
        request.decode_s / floor_steps as floor_tpot_s,
        request.decode_s / steps as decode_tpot_s,
        batch_seconds / request.decode_s as mean_batch,
        context_seconds / batch_seconds as mean_context_tokens,
        prefill_tokens,
        weights_s / steps as weights_s,
        arithmetic_s / steps as arithmetic_s,
        layers_s / steps as layers_s,
        allreduce_s / steps as allreduce_s,
        host_s / steps as host_s,
        case when steps is not null then greatest(prefill_s, 0) / request.decode_tokens end as prefill_s
    from measured
)

select
    per_token.run_id,
    per_token.seq,
    runs.is_simulated,
    per_token.first_token_s,
    per_token.tpot_s,
    per_token.floor_tpot_s,
    per_token.decode_tpot_s + per_token.prefill_s as predicted_tpot_s,
    per_token.tpot_s / (per_token.decode_tpot_s + per_token.prefill_s) as slowdown_ratio,
    per_token.tpot_s / per_token.floor_tpot_s as floor_ratio,
    per_token.mean_batch,
    per_token.mean_context_tokens,
    per_token.prefill_tokens as prefill_tokens_shared,
    per_token.decode_tokens,
    per_token.weights_s,
    per_token.decode_tpot_s - per_token.weights_s - per_token.arithmetic_s - per_token.layers_s
        - per_token.allreduce_s - per_token.host_s as kv_s,
    per_token.arithmetic_s,
    per_token.layers_s,
    per_token.allreduce_s,
    per_token.host_s,
    per_token.prefill_s
from per_token
inner join staging.runs on runs.run_id = per_token.run_id
