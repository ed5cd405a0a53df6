-- One row per stretch of a run in which the same requests to one model of one server decode: between two instants at which a request brings its
-- first or its last token, or at which a second starts.
--
-- Every request that streamed counts, failed or not: it took its share of the steps of its model. A request grows at its own average rate. At the
-- start of a stretch its context is half a token below the count, because a step reads what was there at its start: over a step this
-- is right on average. Costs are of one step, and null if the run's deployment is not known or nothing decodes.
-- If data parallelism puts several engines behind one address, they are assumed to share its requests evenly: batch and contexts are
-- of one engine on average, as is token_per_s. With fewer requests than engines, a step costs what an engine with one request pays.
-- Held while runs are computed.
-- group: tpot
-- run_id                    the replay
-- other_model               the model that classes asked for instead of the run's own; '': the run's own, which alone most readers want
-- endpoint                  base url of the server; '' where the run had one only
-- begin_s                   seconds since the run began
-- end_s                     the next such instant; null for the last, which ends nothing
-- batch                     requests that decode, of one engine
-- token_per_s               tokens that they bring together, of one engine, per second
-- begin_context_tokens      sum of their contexts at begin_s, tokens
-- end_context_tokens        the same at end_s, tokens
-- begin_windowed_tokens     the same at begin_s with each context cut at the model's window, tokens
-- end_windowed_tokens       the same at end_s, tokens
-- begin_floor_s             what a step's bytes need at peak bandwidth, at begin_s, seconds
-- end_floor_s               the same at end_s, seconds
-- begin_decode_s            predicted time of a step without prefill, at begin_s, seconds
-- end_decode_s              the same at end_s, seconds
-- experts_s                 of it, experts and their routing, seconds
-- arithmetic_s              of it, what multiplying adds, seconds
-- allreduce_s               of it, all-reduces, seconds
with uncounted as (
    -- Reading the chunks of every request, only to count them, is slow: these are few.
    select
        run_id,
        seq,
        chunk_count
    from staging.requests
    where output_tokens_reported is null
        and received_tokens is null
),

streams as (
    select
        requests.run_id,
        coalesce(requests.other_model, '') as other_model,
        coalesce(requests.endpoint, '') as endpoint,
        requests.first_token_s,
        coalesce(requests.last_token_s, requests.first_token_s) as last_token_s,
        coalesce(requests.input_tokens_reported, requests.input_tokens) + 0.5e0 as first_context,
        coalesce(
            greatest(coalesce(requests.received_tokens, uncounted.chunk_count) - 1, 0)
            / nullif(requests.last_token_s - requests.first_token_s, 0),
            0
        ) as token_per_s,
        deployments.d.window_tokens
    from staging.requests
    left join uncounted
        on uncounted.run_id = requests.run_id
        and uncounted.seq = requests.seq
    left join staging.model_deployments as deployments
        on deployments.run_id = requests.run_id
        and deployments.other_model = coalesce(requests.other_model, '')
    where requests.first_token_s is not null
        and (requests.other_model is not null or not requests.is_unpredicted)
),

-- A context is a line over time: offset + token_per_s * t. Where it meets the
-- window it goes on flat.
lines as (
    select
        run_id,
        other_model,
        endpoint,
        first_token_s,
        last_token_s,
        token_per_s,
        first_context - token_per_s * first_token_s as offset_tokens,
        window_tokens,
        case
            when first_context >= window_tokens then first_token_s
            when first_token_s + (window_tokens - first_context) / nullif(token_per_s, 0) < last_token_s
                then first_token_s + (window_tokens - first_context) / token_per_s
        end as full_s
    from streams
    where last_token_s > first_token_s
),

changes as (
    select
        run_id,
        other_model,
        endpoint,
        first_token_s as begin_s,
        1 as batch,
        offset_tokens,
        token_per_s,
        offset_tokens as windowed_offset_tokens,
        token_per_s as windowed_token_per_s
    from lines
    union all
    select
        run_id,
        other_model,
        endpoint,
        full_s,
        0,
        0,
        0,
        window_tokens - offset_tokens,
        -token_per_s
    from lines
    where full_s is not null
    union all
    select
        run_id,
        other_model,
        endpoint,
        last_token_s,
        -1,
        -offset_tokens,
        -token_per_s,
        case when full_s is null then -offset_tokens else -window_tokens end,
        case when full_s is null then -token_per_s else 0 end
    from lines
    union all
    -- A request with a single token, or with all tokens at once, does not change the batch.
    select
        run_id,
        other_model,
        endpoint,
        first_token_s,
        0,
        0,
        0,
        0,
        0
    from streams
    where last_token_s <= first_token_s
    union all
    select
        run_id,
        other_model,
        endpoint,
        -- At most ten days, so that an instant that is plainly wrong does not make a million rows.
        unnest(range(floor(min(first_token_s))::bigint + 1, least(ceil(max(last_token_s)), 864e3)::bigint)),
        0,
        0,
        0,
        0,
        0
    from lines
    group by
        run_id,
        other_model,
        endpoint
),

-- If several changes happen at one instant, the last row includes them all.
stretches as (
    select
        run_id,
        other_model,
        endpoint,
        begin_s,
        lead(begin_s) over in_time as end_s,
        sum(batch) over in_time as batch,
        sum(offset_tokens) over in_time as offset_tokens,
        sum(token_per_s) over in_time as token_per_s,
        sum(windowed_offset_tokens) over in_time as windowed_offset_tokens,
        sum(windowed_token_per_s) over in_time as windowed_token_per_s
    from changes
    window in_time as (partition by run_id, other_model, endpoint order by begin_s rows unbounded preceding)
    qualify end_s > begin_s or end_s is null
),

-- Sums of many lines leave a rounding error behind where nothing is left.
shared as (
    select
        stretches.run_id,
        stretches.endpoint,
        stretches.other_model,
        case when batch > 0 then stretches.run_id end as busy_run_id,
        begin_s,
        end_s,
        batch::bigint / engines as batch,
        case when batch > 0 then greatest(token_per_s, 0) else 0 end / engines as token_per_s,
        -- Engines with a request have this many times the average.
        engines / least(engines, greatest(batch, 1)) as busy_factor,
        case when batch > 0 then greatest(offset_tokens + token_per_s * begin_s, 0) else 0 end / engines as begin_context_tokens,
        case when batch > 0 then greatest(offset_tokens + token_per_s * end_s, 0) else 0 end / engines as end_context_tokens,
        case when batch > 0 then greatest(windowed_offset_tokens + windowed_token_per_s * begin_s, 0) else 0 end / engines
            as begin_windowed_tokens,
        case when batch > 0 then greatest(windowed_offset_tokens + windowed_token_per_s * end_s, 0) else 0 end / engines
            as end_windowed_tokens
    from stretches
    inner join (
        select
            run_id,
            '' as other_model,
            greatest(coalesce(deployment.data_parallel_size, 1), 1) as engines
        from staging.runs
        union all
        select
            run_id,
            other_model,
            d.data_parallel_size
        from staging.model_deployments
        where other_model <> ''
    ) as runs
        on runs.run_id = stretches.run_id
        and runs.other_model = stretches.other_model
),

-- What a step costs without reading the KV cache, which costs the same for each token in it.
steps as (
    select
        shared.*,
        macros.floor_s(d, 0, 0) as floor_s,
        macros.floor_s(d, busy_factor, 0) - macros.floor_s(d, 0, 0) as context_floor_s,
        macros.floor_s(d, 0, busy_factor) - macros.floor_s(d, 0, 0) as windowed_floor_s,
        -- The tokens of all engines meet in the experts; everything else is of the engine itself.
        macros.decode_s(d, shared.batch * busy_factor, 0, 0) - macros.experts_s(d, shared.batch * busy_factor) + macros.experts_s(d, shared.batch) as decode_s,
        macros.kv_s(d, busy_factor, 0) as context_kv_s,
        macros.kv_s(d, 0, busy_factor) as windowed_kv_s,
        macros.experts_s(d, shared.batch) as experts_s,
        macros.arithmetic_s(d, shared.batch * busy_factor, 0, 0) as arithmetic_s,
        macros.allreduce_s(d, shared.batch * busy_factor) as allreduce_s
    from shared
    left join staging.model_deployments as deployments
        on deployments.run_id = shared.busy_run_id
        and deployments.other_model = shared.other_model
)

select
    run_id,
    other_model,
    endpoint,
    begin_s,
    end_s,
    batch,
    token_per_s,
    begin_context_tokens,
    end_context_tokens,
    begin_windowed_tokens,
    end_windowed_tokens,
    floor_s + context_floor_s * begin_context_tokens
        + windowed_floor_s * begin_windowed_tokens as begin_floor_s,
    floor_s + context_floor_s * end_context_tokens
        + windowed_floor_s * end_windowed_tokens as end_floor_s,
    decode_s + context_kv_s * begin_context_tokens
        + windowed_kv_s * begin_windowed_tokens as begin_decode_s,
    decode_s + context_kv_s * end_context_tokens
        + windowed_kv_s * end_windowed_tokens as end_decode_s,
    experts_s,
    arithmetic_s,
    allreduce_s
from steps
