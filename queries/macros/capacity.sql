-- Room for the KV cache. `d` is a row of macros.deployment.

-- Bytes of all weights on one GPU.
create macro macros.resident_bytes(d) as
    d.plain_bytes + d.packed_bytes + d.expert_bytes * d.experts + d.embedding_bytes;

-- Tokens whose KV cache fits beside weights and whatever else the engine
-- keeps; below zero the model does not fit.
create macro macros.kv_capacity_tokens(d) as
    floor(
        (d.memory_bytes * d.memory_utilization - macros.resident_bytes(d) - d.other_memory_bytes)
        / (d.layers * d.kv_layer_token_bytes)
    );
