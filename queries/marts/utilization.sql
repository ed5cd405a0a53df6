-- One row per request of marts.tpot_gap on a known deployment: how much of the bandwidth and of the arithmetic of a GPU was used while
-- it decoded, measured and as predicted.
--
-- There is no absolute threshold: what a configuration can reach follows from its bytes and its fixed times, so the measured ratio is
-- read next to the predicted one. Bytes are of the steps at the batch that ran, and the time is that of decoding alone: the predicted
-- share of others' prompts is taken off, where it leaves enough to be known. FLOP are those of all who decoded and of the prompts whose
-- first token came in between. Above 0.95 of the bandwidth or 0.85 of the arithmetic something in the data is wrong.
-- Kept per run.
-- group: tpot
-- run_id                    the replay
-- seq                       the request's place in its plan
-- class                     what the trace calls its kind
-- decode_tokens             tokens after the first: the weight of the row in a mean over tokens
-- stream_s                  weights, experts that were hit and KV cache of a step at peak bandwidth, seconds
-- tpot_s                    measured mean gap between tokens, seconds
-- prefill_s                 of it, prompts of others as predicted, seconds
-- floor_tpot_s              predicted: step bytes over peak bandwidth, seconds
-- is_below_floor            measured faster than memory allows: the data are wrong, and only there is a ratio above 1
-- decode_s                  tpot_s less prefill_s, seconds; null where that cannot be known (macros.decode_alone_s): where prompts are predicted to
--                           take more than half of it, or less is left than stream_s
-- predicted_decode_s        predicted time of a step without prompts, seconds
-- mbu_ratio                 stream_s / decode_s: model bandwidth utilization
-- predicted_mbu_ratio       stream_s / predicted_decode_s
-- mfu_ratio                 FLOP per second over peak, in the compute format: model FLOP utilization; null where it comes out above 1, as of prompts
--                           that were mostly computed before the request's first token
with known as (
    select
        run_id,
        d
    from staging.deployments
),

prompts as (
    select
        requests.run_id,
        coalesce(requests.endpoint, '') as endpoint,
        requests.first_token_s,
        sum(macros.prompt_flop(
            known.d,
            macros.computed_tokens(coalesce(requests.input_tokens_reported, requests.input_tokens), requests.cached_tokens),
            coalesce(requests.cached_tokens, 0)
        )) as flop
    from staging.requests
    inner join known on known.run_id = requests.run_id
    where requests.first_token_s is not null
    group by
        requests.run_id,
        coalesce(requests.endpoint, ''),
        requests.first_token_s
),

cumulated as (
    select
        run_id,
        endpoint,
        first_token_s,
        sum(flop) over (partition by run_id, endpoint order by first_token_s rows unbounded preceding) as prompt_flop
    from prompts
),

spans as (
    select
        requests.run_id,
        requests.seq,
        requests.last_token_s,
        coalesce(requests.endpoint, '') as endpoint,
        cumulated.prompt_flop as prompt_flop_before
    from staging.requests
    inner join cumulated
        on cumulated.run_id = requests.run_id
        and cumulated.endpoint = coalesce(requests.endpoint, '')
        and cumulated.first_token_s = requests.first_token_s
),

neighbours as (
    select
        spans.run_id,
        spans.seq,
        cumulated.prompt_flop - spans.prompt_flop_before as prompt_flop
    from spans
    asof inner join cumulated
        on cumulated.run_id = spans.run_id
        and cumulated.endpoint = spans.endpoint
        and cumulated.first_token_s <= spans.last_token_s
),

streamed as (
    select
        gaps.run_id,
        gaps.seq,
        gaps.class,
        gaps.decode_tokens,
        macros.stream_s(known.d, gaps.mean_batch, gaps.mean_context_tokens) as stream_s,
        gaps.tpot_s,
        gaps.prefill_s,
        gaps.floor_tpot_s,
        macros.is_below_floor(gaps.tpot_s, gaps.floor_tpot_s, gaps.decode_tokens, clients.lag_max_s) as is_below_floor,
        gaps.predicted_tpot_s - gaps.prefill_s as predicted_decode_s,
        (
            gaps.mean_batch * macros.token_flop(known.d, gaps.mean_context_tokens)
            + neighbours.prompt_flop / known.d.data_parallel_size / gaps.decode_tokens
        ) / gaps.tpot_s / known.d.peak_flop_per_s as mfu_ratio
    from marts.tpot_gap as gaps
    inner join known on known.run_id = gaps.run_id
    left join staging.clients on clients.run_id = gaps.run_id
    inner join neighbours on neighbours.run_id = gaps.run_id and neighbours.seq = gaps.seq
)

select
    run_id,
    seq,
    class,
    decode_tokens,
    tpot_s,
    prefill_s,
    floor_tpot_s,
    is_below_floor,
    stream_s,
    macros.decode_alone_s(tpot_s, prefill_s, stream_s, is_below_floor) as decode_s,
    predicted_decode_s,
    stream_s / macros.decode_alone_s(tpot_s, prefill_s, stream_s, is_below_floor) as mbu_ratio,
    stream_s / predicted_decode_s as predicted_mbu_ratio,
    macros.share_of_peak(mfu_ratio, is_below_floor) as mfu_ratio
from streamed
