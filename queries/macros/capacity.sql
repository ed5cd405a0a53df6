-- Room for the KV cache, per GPU. `d` is a row of macros.deployment.
-- group: model

-- Bytes of all weights on one GPU.
--   select macros.resident_bytes(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.resident_bytes(d) as
    d.plain_bytes + d.packed_bytes + d.expert_bytes * d.experts / d.expert_parallel_size + d.embedding_bytes;

-- Bytes left for the KV cache of what the engine takes; below zero the model does not fit.
--   select macros.kv_room_bytes(85.5e9, 0.9, 16.1e9, 4e9)
create macro macros.kv_room_bytes(memory_bytes, memory_utilization, weight_bytes, other_bytes) as
    memory_bytes * memory_utilization - weight_bytes - other_bytes;

-- Bytes left for the KV cache of one GPU of a deployment, `d`; below zero the model does not fit.
--   select macros.kv_free_bytes(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_free_bytes(d) as
    macros.kv_room_bytes(d.memory_bytes, d.memory_utilization, macros.resident_bytes(d), d.other_memory_bytes);

-- Bytes of KV cache that one GPU holds of so many tokens: a windowed layer keeps its window alone, sparse attention keeps all that it
-- may choose from.
--   select macros.kv_held_bytes(d, 4096, 2048)
--   from macros.deployment({'gpu': 'H200', 'catalog_model': 'deepseek-v3.2', 'tensor_parallel_size': 8})
create macro macros.kv_held_bytes(d, context, windowed) as
    macros.kv_bytes(d, context, case when d.index_layers > 0 then context else windowed end);

-- Bytes that one more token costs while no layer's window is full. What vLLM's line
-- "GPU KV cache size: N tokens" divides by.
--   select macros.kv_token_bytes(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_token_bytes(d) as
    macros.kv_held_bytes(d, 1, 1);

-- Bytes that a request of so many tokens holds; a windowed layer keeps its window alone.
--   select macros.kv_request_bytes(d, 4096) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_request_bytes(d, tokens) as
    macros.kv_held_bytes(d, tokens, least(tokens, coalesce(d.window_tokens, tokens)));

-- Tokens whose KV cache fits next to weights and whatever else the engine
-- keeps; below zero the model does not fit.
--   select macros.kv_capacity_tokens(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_capacity_tokens(d) as
    floor(
        macros.kv_room_bytes(d.memory_bytes, d.memory_utilization, macros.resident_bytes(d), d.other_memory_bytes)
        / macros.kv_token_bytes(d)
    );

-- Requests of so many tokens that fit at once, not whole; a prefix that all share is held once, except in windowed layers, whose
-- window lies at the end. Below zero none fits.
--   select macros.fitting_requests(d, 40e9, 4096, 1024) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.fitting_requests(d, room_bytes, tokens, shared_tokens) as
    (room_bytes - macros.kv_held_bytes(d, shared_tokens, 0))
    / macros.kv_held_bytes(d, tokens - shared_tokens, least(tokens, coalesce(d.window_tokens, tokens)));

-- Tokens of the longest request that fits alone: a larger --max-model-len makes vLLM refuse to start. Null: sliding windows alone, any
-- fits.
--   select macros.longest_request_tokens(d, 40e9) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.longest_request_tokens(d, room_bytes) as
    case
        when d.window_tokens is null or d.index_layers > 0 or room_bytes < macros.kv_request_bytes(d, d.window_tokens)
            then floor(room_bytes / macros.kv_token_bytes(d))
        else floor((room_bytes - macros.kv_bytes(d, 0, d.window_tokens)) / nullif(macros.kv_bytes(d, 1, 0), 0))
    end;

-- The plain formula of a token's keys and values, for what is no model of the catalogue: one head's key and value in each layer.
--   select macros.head_kv_bytes(32, 8, 128, 2)
create macro macros.head_kv_bytes(layers, kv_heads, head_dim, element_bytes) as
    2e0 * layers * kv_heads * head_dim * element_bytes;
