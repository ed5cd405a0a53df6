-- One row per run: measured time per token compared with floor and prediction, as means over decoded tokens.
-- marts.tpot_gap_means says how these add up, and has the same of each class.
-- Kept per run.
-- group: tpot
-- run_id                the replay
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
select * exclude (is_all, class)
from marts.tpot_gap_means
where is_all
