-- One row per second of marts.tpot_gap_seconds of a run on a known deployment: how much of the bandwidth and of the arithmetic of a GPU
-- was used in it.
--
-- Bandwidth is of decoding alone: the predicted share of prompts is taken off the time. A prompt's FLOP are spread over the time that its work is
-- predicted to take, which ends with its first token.
-- Kept per run.
-- group: tpot
-- run_id                the replay
-- second                0-based: from so many seconds since the run began, one second long
-- mean_decoding         requests that decoded at a time, per server, mean over the busy time
-- stream_s              weights, experts that were hit and KV cache of a step at peak bandwidth, seconds
-- mbu_ratio             stream_s over the measured time of a step; null where that cannot be known (macros.decode_alone_s)
-- predicted_mbu_ratio   stream_s over its predicted time
-- decode_mfu_ratio      FLOP of decoded tokens over peak, in the compute format
-- prefill_mfu_ratio     FLOP of prompts over peak; null where it comes out above 1, as of prompts that shared steps
-- is_below_floor        measured faster than memory allows: the data are wrong, and only there is mbu_ratio above 1
with works as (
    select
        run_id,
        prompt_flop,
        first_token_s,
        greatest(coalesce(sent_s, 0), first_token_s - prompt_s - chunks * step_s) as begin_s
    from marts.prompt_works
    where prompt_s is not null
),

spread as (
    select
        run_id,
        prompt_flop,
        begin_s,
        first_token_s,
        unnest(range(floor(begin_s)::bigint, floor(first_token_s)::bigint + 1)) as second
    from works
),

prompts as (
    select
        run_id,
        second,
        sum(
            prompt_flop
            * (least(first_token_s, second + 1) - greatest(begin_s, second))
            / (first_token_s - begin_s)
        ) as flop
    from spread
    where first_token_s > begin_s
    group by
        run_id,
        second
),

servers as (
    select
        run_id,
        greatest(len(endpoints), 1) as servers
    from staging.runs
),

streamed as (
    select
        seconds.run_id,
        seconds.second,
        seconds.mean_decoding,
        macros.stream_s(d, seconds.mean_decoding, seconds.mean_context_tokens) as stream_s,
        seconds.tpot_s,
        seconds.prefill_s,
        macros.is_below_floor(seconds.tpot_s, seconds.floor_tpot_s, seconds.busy_s / seconds.tpot_s, clients.lag_max_s) as is_below_floor,
        seconds.decode_tpot_s as predicted_decode_s,
        seconds.decode_tokens * macros.token_flop(d, seconds.mean_context_tokens) as decode_flop,
        coalesce(prompts.flop, 0) / d.data_parallel_size as prompt_flop,
        d.peak_flop_per_s * servers.servers as flop_per_s
    from marts.tpot_gap_seconds as seconds
    inner join staging.deployments as d on d.run_id = seconds.run_id
    inner join servers on servers.run_id = seconds.run_id
    left join staging.clients on clients.run_id = seconds.run_id
    left join prompts on prompts.run_id = seconds.run_id and prompts.second = seconds.second
)

select
    run_id,
    second,
    mean_decoding,
    stream_s,
    stream_s / macros.decode_alone_s(tpot_s, prefill_s, stream_s, is_below_floor) as mbu_ratio,
    stream_s / predicted_decode_s as predicted_mbu_ratio,
    decode_flop / flop_per_s as decode_mfu_ratio,
    macros.share_of_peak(prompt_flop / flop_per_s, false) as prefill_mfu_ratio,
    is_below_floor
from streamed
