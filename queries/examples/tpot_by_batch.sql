-- How does the time per token grow with the batch?
--
-- One row per run and batch, rounded to a power of two, as means over decoded tokens. floor_tpot_s is what the memory alone needs at
-- that batch, predicted_tpot_s what the model expects; both are null for a run on hardware that is not known.
-- group: tpot
select
    run_id,
    pow(2, round(log2(mean_batch)))::bigint as batch,
    count(*) as requests,
    sum(tpot_s * decode_tokens) / sum(decode_tokens) as mean_tpot_s,
    sum(floor_tpot_s * decode_tokens) / sum(decode_tokens) as mean_floor_tpot_s,
    sum(predicted_tpot_s * decode_tokens) / sum(decode_tokens) as mean_predicted_tpot_s,
    sum(tpot_s * decode_tokens) / sum(predicted_tpot_s * decode_tokens) as slowdown_ratio
from marts.tpot_gap
group by
    run_id,
    batch
order by
    run_id,
    batch
