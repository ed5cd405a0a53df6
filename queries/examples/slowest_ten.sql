-- Which ten requests had the slowest tokens, and why?
--
-- largest_term is the part of the prediction that took most of the time; prefill_s is the time that prompts of others took in between,
-- and prefill_tokens_shared how many tokens these had. A large residual_s is time that the model does not explain: look at the server
-- at that moment.
-- group: tpot
select
    run_id,
    seq,
    class,
    first_token_s,
    tpot_s,
    predicted_tpot_s,
    residual_s,
    list_max([
        (weights_s, 'weights'), (experts_s, 'experts'), (kv_s, 'kv'), (arithmetic_s, 'arithmetic'),
        (layers_s, 'layers'), (allreduce_s, 'allreduce'), (host_s, 'host'), (prefill_s, 'prefill')
    ])[2] as largest_term,
    prefill_s,
    prefill_tokens_shared,
    mean_batch,
    mean_context_tokens
from marts.tpot_gap
order by
    tpot_s desc,
    run_id,
    seq
limit 10
