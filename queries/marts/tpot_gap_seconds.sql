-- One row per run and second in which something decoded: measured time per token compared with what memory allows and what the
-- model predicts, at the batch of that second. Servers of one run are added up.
--
-- Every request that streamed counts, also failed ones and warm-up, because it shared the steps. A request's tokens are spread evenly
-- between its first and its last, so changes shorter than a request are smoothed. Prompts computed while nothing decodes slow nobody.
-- Kept per run.
-- group: tpot
-- run_id                the replay
-- second                0-based: from so many seconds since the run began, one second long
-- busy_s                time in which something decoded, seconds; of several servers the sum
-- mean_decoding         requests that decoded at a time, per server, mean over the busy time; marts.tpot_gap's mean_batch is what a request saw
-- mean_context_tokens   mean context of one of these, tokens
-- decode_tokens         tokens that they brought; of one engine if data parallelism puts several behind one address
-- prefill_tokens        uncached prompt tokens whose first token came, tokens
-- tpot_s                measured: time that requests decoded over their tokens, seconds
-- floor_tpot_s          predicted: step bytes over peak bandwidth, seconds; null without a known deployment, as are all that follow
-- predicted_tpot_s      predicted: the step and prompts that were computed in between, seconds
-- decode_tpot_s         of it, the step alone, seconds
-- prefill_s             of it, prompts, seconds
-- residual_s            tpot_s - predicted_tpot_s, seconds
-- slowdown_ratio        tpot_s / predicted_tpot_s
with integrals as (
    select
        run_id,
        endpoint,
        begin_s,
        end_s,
        batch,
        batch_seconds,
        context_seconds,
        tokens,
        floor_steps,
        steps,
        prefill_s,
        prefill_tokens
    from marts.decode_integrals
    where other_model = ''
),

-- The starts of seconds, and the instants at which a request starts or stops decoding: between two of these, all of the time is busy or idle.
edges as (
    select *
    from (
        select
            *,
            coalesce(lag(batch) over in_time, 0) as batch_before
        from integrals
        window in_time as (partition by run_id, endpoint order by begin_s)
    ) as each
    where batch = 0
        or batch_before = 0
        or begin_s = floor(begin_s)
),

pieces as (
    select
        run_id,
        floor(begin_s)::bigint as second,
        batch > 0 as is_busy,
        lead(begin_s) over in_time - begin_s as length_s,
        lead(batch_seconds) over in_time - batch_seconds as batch_seconds,
        lead(context_seconds) over in_time - context_seconds as context_seconds,
        lead(tokens) over in_time - tokens as tokens,
        lead(floor_steps) over in_time - floor_steps as floor_steps,
        lead(steps) over in_time - steps as steps,
        lead(prefill_s) over in_time - prefill_s as prefill_s,
        lead(prefill_tokens) over in_time - prefill_tokens as prefill_tokens
    from edges
    window in_time as (partition by run_id, endpoint order by begin_s)
),

seconds as (
    select
        run_id,
        second,
        sum(length_s) as busy_s,
        sum(batch_seconds) as batch_seconds,
        sum(context_seconds) as context_seconds,
        sum(tokens) as decode_tokens,
        sum(prefill_tokens)::bigint as prefill_tokens,
        sum(batch_seconds) / nullif(sum(tokens), 0) as tpot_s,
        sum(length_s) / sum(floor_steps) as floor_tpot_s,
        sum(length_s) / sum(steps) as decode_tpot_s,
        -- A stream brought busy_s / tpot_s tokens, and these waited for the prompts.
        case when sum(steps) is not null then greatest(sum(prefill_s), 0) / sum(length_s) end as prefill_ratio
    from pieces
    where is_busy
        and length_s > 0
    group by
        run_id,
        second
)

select
    run_id,
    second,
    busy_s,
    batch_seconds / busy_s as mean_decoding,
    context_seconds / batch_seconds as mean_context_tokens,
    decode_tokens,
    prefill_tokens,
    tpot_s,
    floor_tpot_s,
    decode_tpot_s + prefill_ratio * tpot_s as predicted_tpot_s,
    decode_tpot_s,
    prefill_ratio * tpot_s as prefill_s,
    tpot_s - decode_tpot_s - prefill_ratio * tpot_s as residual_s,
    tpot_s / (decode_tpot_s + prefill_ratio * tpot_s) as slowdown_ratio
from seconds
