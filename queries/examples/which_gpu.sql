-- Which GPU holds a model, and how fast could it decode at best?
--
-- One row per GPU for Llama 3.1 70B in FP8: tokens of KV cache that fit next to the weights (below zero: the model does not fit on
-- one), the time per token that the memory alone needs for 32 requests of 2,000 tokens, and the one that the model predicts. Change the
-- model and the numbers in the query.
-- group: model
select
    d.gpu,
    macros.kv_capacity_tokens(d) as kv_capacity_tokens,
    macros.floor_s(d, 32 * 2000, 32 * 2000) as floor_tpot_s,
    macros.decode_s(d, 32, 32 * 2000, 32 * 2000) as predicted_tpot_s
from seeds.gpus
cross join lateral macros.deployment({'gpu': gpus.gpu, 'catalog_model': 'llama-3.1-70b', 'quantization': 'fp8'}) as made
order by
    kv_capacity_tokens > 0 desc,
    predicted_tpot_s
