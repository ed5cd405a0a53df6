-- One row per run on a known deployment: how much of the bandwidth and of the arithmetic of a GPU it used.
--
-- Bandwidth is of decoding alone, as in marts.utilization, in means over decoded tokens. Arithmetic is all that the run's own requests
-- asked for, warm-up and failures too, over the time from the first that was sent to the last token.
-- Kept per run.
-- group: tpot
-- run_id                the replay
-- decode_tokens         tokens after the first of the requests that are compared
-- mbu_ratio             bytes of a step over what peak bandwidth brings in its measured time, prompts of others taken off; null where that cannot be
--                       known (macros.decode_alone_s)
-- predicted_mbu_ratio   the same in its predicted time
-- mfu_ratio             FLOP per second over peak, in the compute format
-- window_s              from the first request sent to the last token, seconds
-- is_below_floor        its requests together are faster than memory allows: the data are wrong, and only there is mbu_ratio above 1
with streamed as (
    select
        run_id,
        count(*) as requests,
        sum(decode_tokens)::bigint as decode_tokens,
        macros.token_mean(stream_s, decode_tokens) as stream_s,
        macros.token_mean(tpot_s, decode_tokens) as tpot_s,
        macros.token_mean(prefill_s, decode_tokens) as prefill_s,
        macros.token_mean(floor_tpot_s, decode_tokens) as floor_tpot_s,
        macros.token_mean(predicted_decode_s, decode_tokens) as predicted_decode_s
    from marts.utilization
    group by run_id
),

-- All requests together, because the prediction of prompts takes too much off one request and too little off another.
judged as (
    select
        streamed.*,
        macros.is_below_floor(
            streamed.tpot_s, streamed.floor_tpot_s, streamed.decode_tokens / streamed.requests, clients.lag_max_s
        ) as is_below_floor
    from streamed
    left join staging.clients on clients.run_id = streamed.run_id
),

served as (
    select
        requests.run_id,
        sum(
            macros.prompt_flop(
                d,
                macros.computed_tokens(coalesce(requests.input_tokens_reported, requests.input_tokens), requests.cached_tokens),
                coalesce(requests.cached_tokens, 0)
            )
            + greatest(coalesce(requests.received_tokens, requests.chunk_count) - 1, 0)
            * macros.token_flop(
                d,
                coalesce(requests.input_tokens_reported, requests.input_tokens)
                + coalesce(requests.received_tokens, requests.chunk_count) / 2
            )
        ) as flop,
        max(requests.last_token_s) - min(requests.sent_s) as window_s,
        -- Each server has GPUs of its own.
        any_value(d.peak_flop_per_s * d.data_parallel_size) * greatest(count(distinct requests.endpoint), 1) as flop_per_s
    from staging.requests
    inner join staging.deployments as d on d.run_id = requests.run_id
    where requests.first_token_s is not null
    group by requests.run_id
)

select
    served.run_id,
    judged.decode_tokens,
    judged.stream_s / macros.decode_alone_s(judged.tpot_s, judged.prefill_s, judged.stream_s, judged.is_below_floor) as mbu_ratio,
    judged.stream_s / judged.predicted_decode_s as predicted_mbu_ratio,
    served.flop / nullif(served.window_s, 0) / served.flop_per_s as mfu_ratio,
    served.window_s,
    judged.is_below_floor
from served
left join judged on judged.run_id = served.run_id
