-- Seconds of one engine step, term by term. `d` is a row of macros.deployment.
--   decode          sequences that decode one token each
--   context         sum of their contexts, tokens
--   windowed        the same with each context cut at d.window_tokens; context where there is no window
--   prefill         uncached prompt tokens computed in the step
--   chunks          sequences that these belong to
--   pairs           query-key pairs of the prefill: sum of s*p + s*s/2 for s new tokens after p earlier ones

-- Experts of one layer that a step of so many tokens hits, each token choosing
-- its own with equal chances.
create macro macros.distinct_experts(experts, experts_per_token, tokens) as
    case when experts = 0 then 0e0
        else experts * (1 - pow(1 - experts_per_token::double / experts, tokens))
    end;

-- Streaming the weights that the step needs.
create macro macros.weights_s(d, tokens) as
    d.plain_bytes / d.plain_bytes_per_s
    + (
        d.packed_bytes
        + d.expert_bytes * macros.distinct_experts(d.experts, d.experts_per_token, tokens)
    ) / d.packed_bytes_per_s;

-- Multiplying, were the weights already there. Prefill needs the output head once
-- a sequence, decoding once a token.
create macro macros.multiply_s(d, decode, prefill, chunks) as
    2 * (decode + prefill) * (d.plain_params / d.plain_flop_per_s + d.packed_params / d.packed_flop_per_s)
    + 2 * (decode + chunks) * d.head_params / d.plain_flop_per_s;

-- Weights and arithmetic under a soft roof: hardness 1 is their sum, infinity
-- the larger of the two.
create macro macros.roof_s(weights_s, multiply_s, hardness) as
    pow(pow(weights_s, hardness) + pow(multiply_s, hardness), 1 / hardness);

create macro macros.gemm_s(d, decode, prefill, chunks) as
    macros.roof_s(
        macros.weights_s(d, decode + prefill),
        macros.multiply_s(d, decode, prefill, chunks),
        d.roof_hardness
    );

-- What arithmetic adds to the streaming of the weights.
create macro macros.arithmetic_s(d, decode, prefill, chunks) as
    macros.gemm_s(d, decode, prefill, chunks) - macros.weights_s(d, decode + prefill);

-- Bytes of KV cache that one GPU reads in a step.
create macro macros.kv_bytes(d, context, windowed) as
    d.kv_layer_token_bytes
    * ((d.layers - d.windowed_layers) * context + d.windowed_layers * windowed);

create macro macros.kv_s(d, context, windowed) as
    macros.kv_bytes(d, context, windowed) / d.kv_bytes_per_s;

-- Two all-reduces a layer, of one 16-bit hidden state a token.
create macro macros.allreduce_s(d, tokens) as
    case when d.tensor_parallel_size = 1 then 0e0
        else 2 * d.layers
            * macros.all_reduce_s(d.all_reduce_first_s, d.all_reduce_bends, tokens * d.hidden * 2)
    end;

-- What no bandwidth removes: the fixed time of a layer's kernels.
create macro macros.layers_s(d) as
    d.layers * d.layer_s + d.expert_layers * d.expert_layer_s;

-- Host time: scheduling, sampling, detokenizing.
create macro macros.host_s(d, decode) as
    d.step_s + decode * d.sequence_s;

-- Attention of prefill; a windowed layer looks back no further than its window.
create macro macros.prefill_attention_s(d, prefill, pairs) as
    4 * d.query_heads * d.head_dim
    * (
        (d.layers - d.windowed_layers) * pairs
        + d.windowed_layers * least(pairs, coalesce(prefill * d.window_tokens::double, pairs))
    )
    / (d.tensor_parallel_size * d.plain_flop_per_s);

-- A step that only decodes.
create macro macros.decode_s(d, decode, context, windowed) as
    macros.gemm_s(d, decode, 0, 0)
    + macros.kv_s(d, context, windowed)
    + macros.allreduce_s(d, decode)
    + macros.layers_s(d)
    + macros.host_s(d, decode);

-- Any step.
create macro macros.engine_step_s(d, decode, context, windowed, prefill, chunks, pairs) as
    macros.gemm_s(d, decode, prefill, chunks)
    + macros.kv_s(d, context, windowed)
    + macros.allreduce_s(d, decode + prefill)
    + macros.layers_s(d)
    + macros.host_s(d, decode)
    + macros.prefill_attention_s(d, prefill, pairs);
