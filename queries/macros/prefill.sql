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

-- Extra seconds that one chunk adds to the step it rides in, attention aside.
--   select macros.chunk_s(d, 32, 2048) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.chunk_s(d, batch, tokens) as
    macros.gemm_s(d, batch, tokens, 1) - macros.gemm_s(d, batch, 0, 0)
    + macros.experts_s(d, batch + tokens) - macros.experts_s(d, batch)
    + macros.allreduce_s(d, batch + tokens) - macros.allreduce_s(d, batch);

-- Extra seconds that a whole prompt adds to the steps of `batch` others.
--   select macros.prompt_s(d, 32, 2000, 0) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prompt_s(d, batch, tokens, cached) as
    macros.prefill_chunks(d, batch, tokens)
    * macros.chunk_s(d, batch, tokens / macros.prefill_chunks(d, batch, tokens))
    + macros.prefill_attention_s(d, tokens, macros.prefill_pairs(tokens, cached));
