-- One row per second of marts.tpot_gap_seconds of a run on a known deployment: how much of the bandwidth and of the arithmetic of a GPU
-- was used in it.
--
-- Bandwidth is of decoding alone: the predicted share of prompts is taken off the time. A prompt's FLOP are spread over the time that its work is
-- predicted to take, which ends with its first token.
-- run_id                the replay
-- second                0-based: from so many seconds since the run began, one second long
-- mean_batch            requests that decoded then, per server
-- stream_s              weights, experts that were hit and KV cache of a step at peak bandwidth, seconds
-- mbu_ratio             stream_s over the measured time of a step
-- predicted_mbu_ratio   stream_s over its predicted time
-- decode_mfu_ratio      FLOP of decoded tokens over peak, in the compute format
-- prefill_mfu_ratio     FLOP of prompts over peak
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
        seconds.mean_batch,
        macros.stream_s(d, seconds.mean_batch, seconds.mean_context_tokens) as stream_s,
        case when seconds.tpot_s > seconds.prefill_s then seconds.tpot_s - seconds.prefill_s end as decode_s,
        seconds.decode_tpot_s as predicted_decode_s,
        seconds.decode_tokens * macros.token_flop(d, seconds.mean_context_tokens) as decode_flop,
        coalesce(prompts.flop, 0) as prompt_flop,
        d.peak_flop_per_s * servers.servers as flop_per_s
    from marts.tpot_gap_seconds as seconds
    inner join staging.deployments as d on d.run_id = seconds.run_id
    inner join servers on servers.run_id = seconds.run_id
    left join prompts on prompts.run_id = seconds.run_id and prompts.second = seconds.second
)

select
    run_id,
    second,
    mean_batch,
    stream_s,
    stream_s / decode_s as mbu_ratio,
    stream_s / predicted_decode_s as predicted_mbu_ratio,
    decode_flop / flop_per_s as decode_mfu_ratio,
    prompt_flop / flop_per_s as prefill_mfu_ratio
from streamed
