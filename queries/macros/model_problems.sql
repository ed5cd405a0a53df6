-- What a config.json lacks for the bandwidth model, and what in it cannot be: a list of sentences, each with the
-- spellings that were tried; empty where all is there. Nothing is guessed for a family that is not known.
-- group: configs

-- What a config.json lacks for the bandwidth model, and what in it cannot be: a list of sentences, each with the spellings that were
-- tried; empty where all is there. Nothing is guessed for a family that is not known.
--   select macros.model_problems('{"model_type": "llama"}')
create macro macros.model_problems(config) as (
    select list_filter(macros.problems_of(k, z, l), lambda problem: problem is not null)
    from (
        select k, z, macros.model_layers(k, z) as l
        from (
            select k, macros.model_sizes(k) as z
            from (select macros.model_keys(config) as k)
        )
    )
);

-- The same as macros.model_problems, from a model's keys k, sizes z and layers l; null where there is no problem.
--   select len(macros.problems_of(k, z, l)) as looked_for from (select k, z, macros.model_layers(k, z) as l
--   from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k from seeds.model_configs
--   where model = 'gpt-oss-120b')))
create macro macros.problems_of(k, z, l) as [
    case
        when k.model_type is null then 'no model_type'
        when z.family is null then 'model_type "' || k.model_type || '" is an architecture that is not known'
    end,
    macros.size_problem(z.layers, 'num_hidden_layers (n_layer, n_layers, num_layers)'),
    macros.size_problem(z.hidden, 'hidden_size (n_embd, n_embed, d_model)'),
    macros.size_problem(z.heads, 'num_attention_heads (n_head, n_heads)'),
    macros.size_problem(k.vocab_size, 'vocab_size'),
    case when coalesce(k.head_dim, k.attention_head_dim) < 1
        then macros.size_problem(coalesce(k.head_dim, k.attention_head_dim), 'head_dim (attention_head_dim)') end,
    macros.kv_heads_problem(k, z),
    case when k.head_dim is null and k.attention_head_dim is null and k.kv_lora_rank is null and z.hidden % z.heads <> 0
        then 'no head_dim, and hidden_size is not a multiple of num_attention_heads' end,
    case when k.kv_lora_rank is not null and (k.qk_nope_head_dim is null or k.qk_rope_head_dim is null or k.v_head_dim is null)
        then 'kv_lora_rank without qk_nope_head_dim, qk_rope_head_dim or v_head_dim' end,
    case when k.index_topk is not null and (k.index_n_heads is null or k.index_head_dim is null or k.q_lora_rank is null)
        then 'index_topk without index_n_heads, index_head_dim or q_lora_rank' end,
    case when k.index_topk < 1 then macros.size_problem(k.index_topk, 'index_topk') end,
    case when len(l.mlp) = 0 or list_contains(l.mlp, 'dense')
        then macros.size_problem(macros.dense_width(k, z), 'intermediate_size (n_inner, ffn_dim, ffn_hidden_size)') end,
    case when z.experts < 0
        then 'num_experts (num_local_experts, n_routed_experts, moe_num_experts) is ' || z.experts || ': it must be at least 0' end,
    case when z.experts > 0
        then macros.size_problem(
            macros.experts_of_token(k), 'num_experts_per_tok (num_experts_per_token, experts_per_token, moe_topk, moe_k)'
        ) end,
    case when z.experts > 0 and macros.experts_of_token(k) > z.experts
        then 'num_experts_per_tok (num_experts_per_token, experts_per_token, moe_topk, moe_k) is ' || macros.experts_of_token(k)
            || ', more than num_experts (num_local_experts, n_routed_experts, moe_num_experts), ' || z.experts end,
    case when z.experts > 0
        then macros.size_problem(macros.expert_width(k), 'moe_intermediate_size (intermediate_size, ffn_dim)') end,
    case when coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) <> z.layers
        then 'layer_types (layers_block_type, hybrid_override_pattern) says '
            || coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) || ' layers, num_hidden_layers ' || z.layers end,
    -- Only where a kind of each layer is given can one be strange.
    case when coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) = z.layers
            and len(list_filter(l.attention, lambda kind: kind is not null)) < z.layers
        then 'layer_types (layers_block_type, hybrid_override_pattern) has a kind of layer that is not known' end,
    -- A config may say that its window is not used; then those layers see all.
    case when coalesce(k.use_sliding_window, true) and k.sliding_window is null and macros.count_of(k.layer_types, 'sliding_attention') > 0
        then 'layer_types has ' || macros.count_of(k.layer_types, 'sliding_attention')
            || ' layers of sliding_attention, but there is no sliding_window' end,
    case when k.model_type = 'llama4_text' and k.attention_chunk_size is null and macros.count_of(k.layer_types, 'chunked_attention') > 0
        then 'layer_types has ' || macros.count_of(k.layer_types, 'chunked_attention')
            || ' layers of chunked_attention, but there is no attention_chunk_size' end,
    case when z.window < 1 and list_contains(l.attention, 'window')
        then macros.size_problem(z.window, case when k.model_type = 'llama4_text' then 'attention_chunk_size' else 'sliding_window' end) end,
    case when list_contains(l.attention, 'linear') and l.mixer.params is null
        then 'layers without attention, but no linear_num_value_heads, linear_attn_config, mamba_n_heads (mamba_num_heads) or mamba_d_state' end,
    macros.quantization_problem(k.quantization_config)
];

-- Why a number that a model cannot be without is no size, in words; null where it is one. `names` are the spellings of its key.
--   select macros.size_problem(0, 'hidden_size')
create macro macros.size_problem(size, names) as case
    when size is null then 'no ' || names
    when size < 1 then names || ' is ' || size || ': it must be at least 1'
end;

-- Why the key and value heads do not go with the others, in words; null where they do: each serves as many query heads as the others. A
-- latent cache has none, multi_query one.
--   select macros.kv_heads_problem(k, z) is null as is_fine from (select k, macros.model_sizes(k) as z
--   from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b'))
create macro macros.kv_heads_problem(k, z) as case
    when k.kv_lora_rank is not null or (k.multi_query and not coalesce(k.new_decoder_architecture, false)) then null
    when macros.kv_heads_said(k) < 1
        then macros.size_problem(macros.kv_heads_said(k), 'num_key_value_heads (num_kv_heads, n_head_kv)')
    when z.heads > 0 and macros.kv_heads_said(k) > z.heads
        then 'num_key_value_heads (num_kv_heads, n_head_kv) is ' || macros.kv_heads_said(k)
            || ', more than num_attention_heads (n_head, n_heads), ' || z.heads
    when z.heads > 0 and z.heads % macros.kv_heads_said(k) <> 0
        then 'num_attention_heads (n_head, n_heads) is ' || z.heads
            || ', not a multiple of num_key_value_heads (num_kv_heads, n_head_kv), ' || macros.kv_heads_said(k)
end;
