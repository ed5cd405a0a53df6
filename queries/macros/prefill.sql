-- What a prompt costs the requests that decode at the same time. `d` is a row of macros.deployment.
-- group: model

-- Query-key pairs of a prompt with causal attention, s p + s^2 / 2: `tokens` (s) computed after `cached` (p) earlier ones.
--   select macros.prefill_pairs(1000, 500)
create macro macros.prefill_pairs(tokens, cached) as
    tokens::double * cached + tokens::double * tokens / 2;

-- Steps that a prompt's uncached tokens are spread over, while `batch` others
-- decode: each takes a token of the step's budget.
--   select macros.prefill_chunks(d, 32, 20000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prefill_chunks(d, batch, tokens) as
    ceil(tokens::double / greatest(1, d.max_num_batched_tokens - batch));

-- Extra seconds that one chunk adds to the step it rides in, attention aside; kv_s: what the step takes to read the KV cache, where that is
-- known, because a launch that takes longer hides it.
--   select macros.chunk_s(d, 32, 2048) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.chunk_s(d, batch, tokens, kv_s := 0e0) as
    macros.chunk_beside_s(
        d, batch, tokens, batch + tokens, macros.gemm_s(d, batch, 0, 0), macros.experts_s(d, batch), macros.allreduce_s(d, batch), kv_s
    );

-- The same, for who has the step's tokens (filled: batch + tokens) and the times of the step without the chunk already; kv_s is for reading
-- the KV cache, where the context is known.
--   select macros.chunk_beside_s(d, 32, 2048, 2080, 8e-3, 0, 0, 1e-3) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.chunk_beside_s(d, batch, tokens, filled, gemm_s, experts_s, allreduce_s, kv_s) as
    greatest(
        macros.gemm_s(d, batch, tokens, 1) - gemm_s
        + (1 + (d.mixed_prompt_ratio - 1) * least(1e0, batch)) * (macros.experts_s(d, filled) - experts_s)
        + macros.allreduce_s(d, filled) - allreduce_s
        + d.chunk_s,
        -- The host launches each layer of a large step; a step of the others alone is one graph.
        case when batch >= 1 then macros.launched_step_s(d, filled) - gemm_s - experts_s - allreduce_s - kv_s - macros.layers_s(d) - macros.host_s(d, batch) end
    );

-- Extra seconds that a whole prompt adds to the steps of `batch` others.
--   select macros.prompt_s(d, 32, 2000, 0) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prompt_s(d, batch, tokens, cached, kv_s := 0e0) as
    macros.chunks_s(
        d, tokens, cached, macros.prefill_chunks(d, batch, tokens),
        macros.chunk_s(d, batch, tokens / macros.prefill_chunks(d, batch, tokens), kv_s := kv_s)
    );

-- The same, for who has the number of its chunks and the extra seconds of one already.
--   select macros.chunks_s(d, 2000, 0, 2, 50e-3) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.chunks_s(d, tokens, cached, chunks, chunk_s) as
    chunks * chunk_s + macros.prefill_attention_s(d, tokens, macros.prefill_pairs(tokens, cached));
