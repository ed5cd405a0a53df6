-- One row per run and figure of its decoding that a diagnosis looks at: the measured time per token compared with floor and prediction,
-- term by term. Means are over decoded tokens, as in marts.tpot_terms, and that of the batch over the time that requests decoded, as in
-- marts.tpot_gap_runs. staging.evidence_figures says what each figure is.
-- Kept per run.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with gaps as (
    select
        tpot_gap.*,
        macros.is_below_floor(tpot_gap.tpot_s, tpot_gap.floor_tpot_s, tpot_gap.decode_tokens, clients.lag_max_s) as is_below_floor,
        ntile(4) over (partition by tpot_gap.run_id order by tpot_gap.mean_batch) as quarter
    from marts.tpot_gap
    left join staging.clients on clients.run_id = tpot_gap.run_id
),

means as (
    select
        run_id,
        count(*) as requests,
        avg(is_below_floor::integer) as below_floor_ratio,
        macros.token_mean(tpot_s, decode_tokens) as tpot_s,
        macros.token_mean(floor_tpot_s, decode_tokens) as floor_s,
        macros.token_mean(predicted_tpot_s, decode_tokens) as predicted_s,
        macros.token_mean(weights_s + experts_s + kv_s, decode_tokens) as memory_s,
        macros.token_mean(prefill_s, decode_tokens) as prefill_s,
        macros.token_mean(allreduce_s, decode_tokens) as allreduce_s,
        sum(mean_batch * tpot_s * decode_tokens) / sum(tpot_s * decode_tokens) as mean_batch,
        avg(mean_batch) filter (where quarter = 4) / avg(mean_batch) filter (where quarter = 1) as batch_growth_ratio,
        avg(tpot_s) filter (where quarter = 4) / avg(tpot_s) filter (where quarter = 1) as tpot_growth_ratio,
        avg(predicted_tpot_s) filter (where quarter = 4) / avg(predicted_tpot_s) filter (where quarter = 1) as predicted_growth_ratio,
        avg(tpot_s) filter (where quarter = 1) / avg(predicted_tpot_s) filter (where quarter = 1) as low_batch_slowdown_ratio
    from gaps
    group by run_id
),

itl as (
    select
        run_id,
        max(value_s) filter (where quantile = 0.5) as p50_itl_s,
        max(value_s) filter (where quantile = 0.99) as p99_itl_s
    from marts.latency_quantiles
    where metric = 'itl_s'
    group by run_id
),

-- The same count as in marts.decode_segments, without the cost of each step.
peaks as (
    select
        run_id,
        max(batch) as peak_decoding
    from (
        select
            run_id,
            sum(change) over (partition by run_id, endpoint order by at_s) as batch
        from (
            select
                run_id,
                endpoint,
                unnest([first_token_s, last_token_s]) as at_s,
                unnest([1, -1]) as change
            from staging.requests
            where last_token_s > first_token_s
        ) as each
    ) as heights
    group by run_id
),

-- Tokens that the GPU really computed, and the time that this took.
tokens as (
    select
        run_id,
        sum(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0)) filter (where is_success) as prompt_tokens,
        sum(received_tokens) filter (where is_success) as answer_tokens,
        count(*) filter (where is_success) as answers,
        max(done_s) - min(sent_s) as window_s
    from staging.requests
    group by run_id
),

known as (
    select
        means.run_id,
        means,
        d,
        d.band_ratio,
        itl,
        peaks.peak_decoding,
        macros.multiply_s(d, tokens.answer_tokens, tokens.prompt_tokens, tokens.answers) / nullif(tokens.window_s, 0) as arithmetic_ratio,
        -- A decoding step together with the longest chunk of a prompt that fits into it.
        means.predicted_s - means.prefill_s
        + macros.chunk_s(d, means.mean_batch, d.max_num_batched_tokens - means.mean_batch)
        + macros.prefill_attention_s(
            d, d.max_num_batched_tokens - means.mean_batch, macros.prefill_pairs(d.max_num_batched_tokens - means.mean_batch, 0)
        ) as p99_step_s
    from means
    left join staging.deployments as d on d.run_id = means.run_id
    left join itl on itl.run_id = means.run_id
    left join peaks on peaks.run_id = means.run_id
    left join tokens on tokens.run_id = means.run_id
)

select
    run_id,
    unnest(macros.known_figures([
        {'figure': 'tpot_s', 'value': means.tpot_s},
        {'figure': 'predicted_tpot_s', 'value': means.predicted_s},
        {'figure': 'slowdown_ratio', 'value': means.tpot_s / means.predicted_s},
        {'figure': 'band_high_ratio', 'value': case when means.predicted_s is not null then macros.band_high(1, band_ratio) end},
        {'figure': 'band_low_ratio', 'value': case when means.predicted_s is not null then macros.band_low(1, band_ratio) end},
        {'figure': 'below_floor_ratio', 'value': means.below_floor_ratio},
        {'figure': 'floor_share_ratio', 'value': means.floor_s / nullif(means.tpot_s, 0)},
        {'figure': 'predicted_floor_share_ratio', 'value': means.floor_s / means.predicted_s},
        {'figure': 'memory_term_ratio', 'value': means.memory_s / means.predicted_s},
        {'figure': 'prefill_term_ratio', 'value': means.prefill_s / means.predicted_s},
        {'figure': 'allreduce_term_ratio', 'value': means.allreduce_s / means.predicted_s},
        {'figure': 'unexplained_allreduce_ratio', 'value': (means.tpot_s - means.predicted_s) / nullif(means.allreduce_s, 0)},
        {'figure': 'mean_batch', 'value': means.mean_batch},
        {'figure': 'peak_decoding', 'value': peak_decoding},
        {'figure': 'batch_growth_ratio', 'value': case when means.requests >= 40 then means.batch_growth_ratio end},
        {'figure': 'tpot_growth_ratio', 'value': case when means.requests >= 40 then means.tpot_growth_ratio end},
        {'figure': 'predicted_growth_ratio', 'value': case when means.requests >= 40 then means.predicted_growth_ratio end},
        {'figure': 'slowdown_growth_ratio', 'value': case when means.requests >= 40 then means.tpot_growth_ratio / means.predicted_growth_ratio end},
        {'figure': 'low_batch_slowdown_ratio', 'value': case when means.requests >= 40 then means.low_batch_slowdown_ratio end},
        {'figure': 'arithmetic_ratio', 'value': arithmetic_ratio},
        {'figure': 'itl_tail_ratio', 'value': itl.p99_itl_s / nullif(itl.p50_itl_s, 0)},
        {'figure': 'p99_itl_s', 'value': itl.p99_itl_s},
        {'figure': 'p99_step_s', 'value': p99_step_s},
        {'figure': 'tensor_parallel', 'value': d.tensor_parallel_size},
        {'figure': 'experts', 'value': d.experts},
        {'figure': 'is_packed', 'value': (d.weight_format not in ('bf16', 'fp16'))::integer}
    ]), recursive := true)
from known
