-- Measured time per token compared with floor and prediction, one row per run and class of its requests, and one of all of a run together.
--
-- All are means over decoded tokens, so that mean times decode_tokens is a sum: the sums of several rows over their tokens are
-- the mean of them together, and the terms and what is left unexplained add up to the measured mean. marts.tpot_gap_runs and
-- marts.tpot_gap_classes are its two kinds of rows, each by itself.
-- Kept per run.
-- group: tpot
-- run_id                the replay
-- class                 what the trace calls their kind; null where it has none, and for all
-- is_all                all of the run's requests together
-- requests              requests compared: those of marts.tpot_gap
-- decode_tokens         tokens after the first of these
-- tpot_s                measured time per token, seconds
-- floor_tpot_s          predicted: step bytes over peak bandwidth, seconds; null without a known deployment, as are all that follow but the batch
-- predicted_tpot_s      predicted: the sum of the terms, seconds
-- weights_s             term: streaming all weights but the experts, seconds
-- experts_s             term: experts and their routing, seconds
-- kv_s                  term: reading the KV cache, and states of constant size, seconds
-- arithmetic_s          term: what multiplying adds to streaming, seconds
-- layers_s              term: fixed time of the layers, seconds
-- allreduce_s           term: all-reduces between GPUs, seconds
-- host_s                term: scheduling and sampling, seconds
-- prefill_s             term: prompts of others that were computed in between, seconds
-- residual_s            tpot_s - predicted_tpot_s, seconds
-- slowdown_ratio        tpot_s / predicted_tpot_s
-- floor_ratio           tpot_s / floor_tpot_s
-- in_band_ratio         requests whose tpot_s lies in the 90 % band of its prediction, of all
-- mean_batch            requests that decoded at the same time, itself included, mean over the time that they decoded
-- below_floor           requests that beat the floor, however late the client read: an error of the data (checks.not_below_floor names them); null without a floor
select
    tpot_gap.run_id,
    tpot_gap.class,
    grouping(tpot_gap.class) = 1 as is_all,
    count(*) as requests,
    sum(tpot_gap.decode_tokens)::bigint as decode_tokens,
    macros.token_mean(tpot_gap.tpot_s, tpot_gap.decode_tokens) as tpot_s,
    macros.token_mean(tpot_gap.floor_tpot_s, tpot_gap.decode_tokens) as floor_tpot_s,
    macros.token_mean(tpot_gap.predicted_tpot_s, tpot_gap.decode_tokens) as predicted_tpot_s,
    macros.token_mean(tpot_gap.weights_s, tpot_gap.decode_tokens) as weights_s,
    macros.token_mean(tpot_gap.experts_s, tpot_gap.decode_tokens) as experts_s,
    macros.token_mean(tpot_gap.kv_s, tpot_gap.decode_tokens) as kv_s,
    macros.token_mean(tpot_gap.arithmetic_s, tpot_gap.decode_tokens) as arithmetic_s,
    macros.token_mean(tpot_gap.layers_s, tpot_gap.decode_tokens) as layers_s,
    macros.token_mean(tpot_gap.allreduce_s, tpot_gap.decode_tokens) as allreduce_s,
    macros.token_mean(tpot_gap.host_s, tpot_gap.decode_tokens) as host_s,
    macros.token_mean(tpot_gap.prefill_s, tpot_gap.decode_tokens) as prefill_s,
    macros.token_mean(tpot_gap.residual_s, tpot_gap.decode_tokens) as residual_s,
    sum(tpot_gap.tpot_s * tpot_gap.decode_tokens) / sum(tpot_gap.predicted_tpot_s * tpot_gap.decode_tokens) as slowdown_ratio,
    sum(tpot_gap.tpot_s * tpot_gap.decode_tokens) / sum(tpot_gap.floor_tpot_s * tpot_gap.decode_tokens) as floor_ratio,
    avg(tpot_gap.is_in_band::integer) as in_band_ratio,
    sum(tpot_gap.mean_batch * tpot_gap.tpot_s * tpot_gap.decode_tokens) / sum(tpot_gap.tpot_s * tpot_gap.decode_tokens) as mean_batch,
    case
        when count(tpot_gap.floor_tpot_s) > 0
            then count(*) filter (
                where macros.is_below_floor(tpot_gap.tpot_s, tpot_gap.floor_tpot_s, tpot_gap.decode_tokens, clients.lag_max_s)
            )
    end as below_floor
from marts.tpot_gap
left join staging.clients on clients.run_id = tpot_gap.run_id
group by grouping sets ((tpot_gap.run_id), (tpot_gap.run_id, tpot_gap.class))
