-- One row per run and term of the predicted time per token: the mean over all decoded tokens of the run. The terms and the unexplained rest
-- add up to the measured mean. Runs without a known deployment have no rows.
-- Kept per run.
-- group: tpot
-- run_id         the replay
-- is_simulated   measured on a simulated server
-- term_seq       order in which terms are stacked
-- term           'weights' (all but the experts), 'experts', 'kv', 'arithmetic', 'layers', 'allreduce', 'host', 'prefill', or 'unexplained': measured less predicted
-- mean_s         seconds per token
-- share_ratio    of the measured mean
with means as (
    select
        run_id,
        is_simulated,
        macros.token_mean(tpot_s, decode_tokens) as tpot_s,
        [
            macros.token_mean(weights_s, decode_tokens),
            macros.token_mean(experts_s, decode_tokens),
            macros.token_mean(kv_s, decode_tokens),
            macros.token_mean(arithmetic_s, decode_tokens),
            macros.token_mean(layers_s, decode_tokens),
            macros.token_mean(allreduce_s, decode_tokens),
            macros.token_mean(host_s, decode_tokens),
            macros.token_mean(prefill_s, decode_tokens),
            macros.token_mean(tpot_s - predicted_tpot_s, decode_tokens)
        ] as terms_s
    from marts.tpot_gap
    where predicted_tpot_s is not null
    group by
        run_id,
        is_simulated
),

terms as (
    select
        run_id,
        is_simulated,
        tpot_s,
        unnest(range(1, 10)) as term_seq,
        unnest(['weights', 'experts', 'kv', 'arithmetic', 'layers', 'allreduce', 'host', 'prefill', 'unexplained']) as term,
        unnest(terms_s) as mean_s
    from means
)

select
    run_id,
    is_simulated,
    term_seq,
    term,
    mean_s,
    mean_s / tpot_s as share_ratio
from terms
