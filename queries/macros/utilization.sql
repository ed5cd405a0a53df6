-- How much of a GPU's bandwidth and arithmetic was used. `d` is a row of macros.deployment; all is of one GPU.
-- group: model

-- Tokens of a prompt that are computed: what is not cached, and its last token always.
--   select macros.computed_tokens(1000, 900)
create macro macros.computed_tokens(prompt_tokens, cached_tokens) as
    greatest(prompt_tokens - coalesce(cached_tokens, 0), 1);

-- FLOP of a prompt: so many tokens computed after `cached` earlier ones. The output head runs once.
--   select macros.prompt_flop(d, 2000, 0) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prompt_flop(d, tokens, cached) as
    2 * tokens * (d.plain_params + d.packed_params + d.expert_params)
    + 2 * d.head_params
    + macros.prefill_attention_flop(d, tokens, macros.prefill_pairs(tokens, cached))
    + macros.index_flop(d, macros.prefill_pairs(tokens, cached));

-- FLOP of one decoded token with so much context.
--   select macros.token_flop(d, 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.token_flop(d, context) as
    2 * (d.plain_params + d.packed_params + d.expert_params + d.head_params)
    + d.pair_flop * (
        (d.attention_layers - d.windowed_layers) * context
        + d.windowed_layers * least(context, coalesce(d.window_tokens, context))
    )
    + macros.index_flop(d, context);

-- Seconds at peak bandwidth for the experts that a step of so many tokens hits beyond those of one token, which the
-- floor has.
--   select macros.more_experts_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.more_experts_s(d, batch) as
    d.expert_bytes * greatest(0e0, macros.hit_experts(d, batch) - d.experts_per_token::double / d.expert_parallel_size)
    / d.hbm_bytes_per_s;

-- Seconds at peak bandwidth for all that a step streams: weights, the experts that it hits, and the KV cache of so many
-- sequences with so much context each.
--   select macros.stream_s(d, 32, 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.stream_s(d, batch, context) as
    macros.floor_s(d, batch * context, batch * least(context, coalesce(d.window_tokens, context)))
    + macros.more_experts_s(d, batch);

-- Measured seconds of decoding alone: less the time that prompts of others are predicted to have taken. Null where it cannot be
-- known. Prompts that are predicted to take more than half of the time leave mostly the error of that prediction; and where less is left than
-- the bytes need at peak bandwidth (stream_s), too much was taken off. A time that is below the floor as it was measured
-- stays whole: there the data are wrong, and a ratio above 1 shows it.
--   select macros.decode_alone_s(10, 2, 6, false)
create macro macros.decode_alone_s(measured_s, prompts_s, stream_s, is_below_floor) as
    case
        when is_below_floor then measured_s
        when prompts_s <= measured_s / 2 and measured_s - prompts_s >= stream_s then measured_s - prompts_s
    end;

-- A share of the peak as far as it can be known. Above 1 it was counted over too short a time, as of prompts whose work began
-- before it, except below the floor: there the data are wrong.
--   select macros.share_of_peak(0.6, false)
create macro macros.share_of_peak(ratio, is_below_floor) as
    case when ratio <= 1 or is_below_floor then ratio end;
