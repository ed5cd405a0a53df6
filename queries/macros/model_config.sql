-- A model from the text of its config.json. macros.model_config(config) is one struct:
--   select macros.model_config('{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
--       "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}')
-- Its fields are those of macros.models(), which documents them. What the config does not
-- say and its family does not settle is null there; macros.model_problems(config) says what
-- is missing. Subqueries give what is used more than once a name: lambdas would, too, but DuckDB 1.5 loses the names
-- of one in another.
-- group: configs

-- A model from the text of its config.json, as a struct whose fields are the columns of seeds.models. What the config does not say and
-- its family does not settle is null; macros.model_problems(config) says what is missing.
--   select macros.model_config('{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
--       "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}').kv_heads
create macro macros.model_config(config) as (
    select macros.model_of(k, z, l)
    from (
        select k, z, macros.model_layers(k, z) as l
        from (
            select k, macros.model_sizes(k) as z
            from (select macros.model_keys(config) as k)
        )
    )
);

-- The keys that are read, in all their spellings; one of another type is null. Models that
-- see or hear keep the language model's keys in an object of their own, and some of them
-- (tie_word_embeddings, quantization_config) next to it.
--   select macros.model_keys('{"model_type": "gpt2", "n_layer": 12}').n_layer
create macro macros.model_keys(config) as
    json_transform(
        macros.with_class_defaults(json_merge_patch(config::json, coalesce(
            config::json->'text_config', config::json->'llm_config', config::json->'language_config', '{}'::json
        ))),
        '{
            "model_type": "VARCHAR", "torch_dtype": "VARCHAR", "dtype": "VARCHAR",
            "num_hidden_layers": "BIGINT", "n_layer": "BIGINT", "n_layers": "BIGINT", "num_layers": "BIGINT",
            "hidden_size": "BIGINT", "n_embd": "BIGINT", "n_embed": "BIGINT", "d_model": "BIGINT",
            "num_attention_heads": "BIGINT", "n_head": "BIGINT", "n_heads": "BIGINT",
            "num_key_value_heads": "BIGINT", "num_kv_heads": "BIGINT", "n_head_kv": "BIGINT",
            "multi_query": "BOOLEAN", "new_decoder_architecture": "BOOLEAN", "head_dim": "BIGINT",
            "attention_head_dim": "BIGINT", "attn_output_gate": "BOOLEAN", "use_qk_norm": "BOOLEAN", "qk_norm_type": "VARCHAR",
            "vocab_size": "BIGINT", "tie_word_embeddings": "BOOLEAN",
            "max_position_embeddings": "BIGINT", "n_positions": "BIGINT", "n_ctx": "BIGINT", "seq_length": "BIGINT", "model_max_length": "BIGINT",
            "rope_scaling": {"rope_type": "VARCHAR", "type": "VARCHAR", "factor": "DOUBLE", "original_max_position_embeddings": "BIGINT"},
            "intermediate_size": "BIGINT", "n_inner": "BIGINT", "ffn_dim": "BIGINT", "ffn_hidden_size": "BIGINT",
            "intermediate_size_mlp": "BIGINT", "shared_intermediate_size": "BIGINT",
            "q_lora_rank": "BIGINT", "kv_lora_rank": "BIGINT", "qk_nope_head_dim": "BIGINT",
            "qk_rope_head_dim": "BIGINT", "v_head_dim": "BIGINT",
            "index_topk": "BIGINT", "index_n_heads": "BIGINT", "index_head_dim": "BIGINT",
            "index_topk_freq": "BIGINT", "index_skip_topk_offset": "BIGINT", "indexer_types": ["VARCHAR"],
            "num_experts": "JSON", "num_local_experts": "JSON", "n_routed_experts": "JSON", "moe_num_experts": "JSON",
            "num_experts_per_tok": "JSON", "num_experts_per_token": "JSON", "experts_per_token": "JSON", "moe_topk": "JSON", "moe_k": "JSON",
            "moe_intermediate_size": "JSON", "n_shared_experts": "BIGINT", "num_shared_experts": "BIGINT", "num_shared_expert": "JSON", "moe_num_shared_experts": "BIGINT",
            "shared_expert_intermediate_size": "BIGINT", "moe_shared_expert_intermediate_size": "BIGINT",
            "first_k_dense_replace": "BIGINT", "mlp_only_layers": ["BIGINT"], "decoder_sparse_step": "BIGINT",
            "moe_layer_freq": "JSON", "moe_layers": ["BIGINT"], "interleave_moe_layer_step": "BIGINT", "mlp_layer_types": ["VARCHAR"],
            "expert_layer_period": "BIGINT", "expert_layer_offset": "BIGINT",
            "moe_layer_start_index": "BIGINT", "moe_layer_end_index": "BIGINT", "moe_layer_interval": "BIGINT",
            "sliding_window": "BIGINT", "use_sliding_window": "BOOLEAN", "max_window_layers": "BIGINT",
            "sliding_window_pattern": "BIGINT", "_sliding_window_pattern": "BIGINT", "attention_chunk_size": "BIGINT",
            "layer_types": ["VARCHAR"], "layers_block_type": ["VARCHAR"], "hybrid_override_pattern": "VARCHAR",
            "attn_layer_period": "BIGINT", "attn_layer_offset": "BIGINT", "attn_layer_indices": ["BIGINT"],
            "full_attention_interval": "BIGINT",
            "linear_num_key_heads": "BIGINT", "linear_num_value_heads": "BIGINT", "linear_key_head_dim": "BIGINT",
            "linear_value_head_dim": "BIGINT", "linear_conv_kernel_dim": "BIGINT",
            "linear_attn_config": {"kda_layers": ["BIGINT"], "head_dim": "BIGINT", "num_heads": "BIGINT", "short_conv_kernel_size": "BIGINT"},
            "mamba_n_heads": "BIGINT", "mamba_num_heads": "BIGINT", "mamba_d_head": "JSON", "mamba_head_dim": "BIGINT",
            "mamba_d_state": "BIGINT", "ssm_state_size": "BIGINT", "mamba_n_groups": "BIGINT", "n_groups": "BIGINT",
            "mamba_d_conv": "BIGINT", "conv_kernel": "BIGINT", "mamba_expand": "BIGINT", "expand": "BIGINT", "mamba_dt_rank": "JSON",
            "mamba_ssm_dtype": "VARCHAR", "mamba_ssm_cache_dtype": "VARCHAR",
            "num_nextn_predict_layers": "BIGINT", "mtp_num_hidden_layers": "BIGINT",
            "quantization_config": {
                "quant_method": "VARCHAR", "quant_algo": "VARCHAR", "bits": "BIGINT", "w_bit": "BIGINT", "group_size": "BIGINT", "q_group_size": "BIGINT",
                "sym": "BOOLEAN", "zero_point": "BOOLEAN", "weight_block_size": "JSON", "lm_head": "BOOLEAN",
                "kv_cache_quant_algo": "VARCHAR", "kv_cache_scheme": "JSON", "format": "VARCHAR", "config_groups": "JSON",
                "modules_to_not_convert": ["VARCHAR"], "ignore": ["VARCHAR"], "exclude_modules": ["VARCHAR"], "ignored_layers": ["VARCHAR"]
            }
        }'
    );

-- A number, or the first of a list of one number a layer.
--   select macros.number_in('[6, 6]'::json)
create macro macros.number_in(value) as
    coalesce(try_cast(value as bigint), try_cast(value->>'$[0]' as bigint));

-- What all layers of a model share, as a struct: its family (macros.architecture), layers, hidden size, heads, experts and window. k
-- are its macros.model_keys.
--   select z from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k from seeds.model_configs
--   where model = 'gpt-oss-120b'))
create macro macros.model_sizes(k) as {
    'family': macros.architecture(k.model_type),
    'layers': coalesce(k.num_hidden_layers, k.n_layer, k.n_layers, k.num_layers),
    'hidden': coalesce(k.hidden_size, k.n_embd, k.n_embed, k.d_model),
    'heads': coalesce(k.num_attention_heads, k.n_head, k.n_heads),
    'experts': coalesce(
        macros.number_in(k.num_experts), macros.number_in(k.num_local_experts),
        macros.number_in(k.n_routed_experts), macros.number_in(k.moe_num_experts), 0
    ),
    -- Qwen ships a window that its models do not use. Sparse attention reads the best index_topk tokens of the context, so many as a
    -- window of that size.
    'window': case
        when k.model_type = 'llama4_text' then k.attention_chunk_size
        when k.index_topk is not null then k.index_topk
        when coalesce(k.use_sliding_window, not starts_with(k.model_type, 'qwen')) then k.sliding_window
    end,
    'pattern': coalesce(k.sliding_window_pattern, k._sliding_window_pattern)
};

-- What each layer of a model is, from the first: kinds of attention, kinds of MLP, and what stands in the place of attention. k are its
-- keys, z its sizes.
--   select l.attention[:4] as attention from (select k, z, macros.model_layers(k, z) as l from (select k, macros.model_sizes(k) as z
--   from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')))
create macro macros.model_layers(k, z) as {
    'attention': list_transform(range(coalesce(z.layers, 0)), lambda i: macros.attention_kind(k, z, i)),
    'mlp': list_transform(range(coalesce(z.layers, 0)), lambda i: macros.mlp_kind(k, z, i)),
    'mixer': macros.linear_mixer(k, z)
};

-- What mixes tokens in layer i (from 0): 'full', 'window', 'linear' or 'none'; null: a kind that is not known.
--   select macros.attention_kind(k, z, 0) from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k
--   from seeds.model_configs where model = 'gpt-oss-120b'))
create macro macros.attention_kind(k, z, i) as case
    when k.hybrid_override_pattern is not null then
        case k.hybrid_override_pattern[i + 1] when '*' then 'full' when 'M' then 'linear' when '-' then 'none' when 'E' then 'none' end
    when coalesce(k.layer_types, k.layers_block_type) is not null then
        case coalesce(k.layer_types, k.layers_block_type)[i + 1]
            when 'full_attention' then 'full'
            when 'attention' then 'full'
            when 'sliding_attention' then case when z.window is null then 'full' else 'window' end
            when 'chunked_attention' then case when z.window is null then 'full' else 'window' end
            when 'deepseek_sparse_attention' then case when z.window is null then 'full' else 'window' end
            when 'linear_attention' then 'linear'
            when 'mamba' then 'linear'
        end
    when k.linear_attn_config.kda_layers is not null then
        case when list_contains(k.linear_attn_config.kda_layers, i + 1) then 'linear' else 'full' end
    when k.attn_layer_period is not null then
        case when i % k.attn_layer_period = coalesce(k.attn_layer_offset, 0) then 'full' else 'linear' end
    when k.attn_layer_indices is not null then
        case when list_contains(k.attn_layer_indices, i) then 'full' else 'linear' end
    when k.linear_num_value_heads is not null then
        case when (i + 1) % coalesce(k.full_attention_interval, 4) = 0 then 'full' else 'linear' end
    when z.window is null or coalesce(z.pattern, z.family.window_every) is null then 'full'
    when starts_with(k.model_type, 'qwen') and i < k.max_window_layers then 'full'
    when coalesce(z.pattern, z.family.window_every) > 0 and (i + 1) % coalesce(z.pattern, z.family.window_every) = 0 then 'full'
    else 'window'
end;

-- What each token goes through in layer i: 'experts', 'dense' or 'none'.
--   select macros.mlp_kind(k, z, 0) from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k
--   from seeds.model_configs where model = 'gpt-oss-120b'))
create macro macros.mlp_kind(k, z, i) as case
    when k.hybrid_override_pattern is not null then
        case k.hybrid_override_pattern[i + 1] when '-' then 'dense' when 'E' then 'experts' else 'none' end
    when z.experts = 0 then 'dense'
    when k.mlp_layer_types is not null then case k.mlp_layer_types[i + 1] when 'dense' then 'dense' else 'experts' end
    when k.moe_layers is not null then case when list_contains(k.moe_layers, i) then 'experts' else 'dense' end
    when list_contains(k.mlp_only_layers, i) then 'dense'
    when i < k.first_k_dense_replace then 'dense'
    when i < k.moe_layer_start_index or i > k.moe_layer_end_index then 'dense'
    when (i + 1) % greatest(coalesce(k.moe_layer_interval, k.interleave_moe_layer_step, k.decoder_sparse_step, 1), 1) <> 0 then 'dense'
    when i % greatest(coalesce(k.expert_layer_period, 1), 1)
        <> case when k.expert_layer_period > 1 then coalesce(k.expert_layer_offset, 1) else 0 end then 'dense'
    when json_type(k.moe_layer_freq) = 'ARRAY' then case when (k.moe_layer_freq->>i) = '1' then 'experts' else 'dense' end
    when i % greatest(coalesce(try_cast(k.moe_layer_freq as bigint), 1), 1) <> 0 then 'dense'
    else 'experts'
end;

-- The model as macros.model_config gives it, from its keys k, its sizes z and its layers l.
--   select macros.model_of(k, z, l).windowed_layers from (select k, z, macros.model_layers(k, z) as l
--   from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k from seeds.model_configs
--   where model = 'gpt-oss-120b')))
create macro macros.model_of(k, z, l) as {
    'architecture': k.model_type,
    'layers': z.layers,
    'hidden': z.hidden,
    'query_heads': z.heads,
    'kv_heads': case
        when k.kv_lora_rank is not null then 1
        when k.multi_query and not coalesce(k.new_decoder_architecture, false) then 1
        else coalesce(macros.kv_heads_said(k), z.heads)
    end,
    'head_dim': case
        when k.kv_lora_rank is not null then k.qk_nope_head_dim + k.qk_rope_head_dim
        else coalesce(k.head_dim, k.attention_head_dim, z.hidden // z.heads)
    end,
    'intermediate': macros.dense_width(k, z),
    'vocab': k.vocab_size,
    'experts': z.experts,
    'experts_per_token': case when z.experts = 0 then 0 else macros.experts_of_token(k) end,
    'expert_intermediate': case when z.experts = 0 then 0 else macros.expert_width(k) end,
    'window_tokens': case when list_contains(l.attention, 'window') then z.window end,
    'windowed_layers': macros.count_of(l.attention, 'window'),
    'is_tied': coalesce(k.tie_word_embeddings, z.family.is_tied),
    'native_format': macros.native_format(k.quantization_config),
    'native_kv_format': macros.native_kv_format(k.quantization_config),
    'native_bytes_per_weight': macros.native_bytes_per_weight(k.quantization_config),
    'plain_parts': macros.plain_parts(k.quantization_config, z.layers),
    'mlp_matrices': z.family.mlp_matrices,
    'expert_layers': macros.count_of(l.mlp, 'experts'),
    'dense_layers': macros.count_of(l.mlp, 'dense'),
    'dense_intermediate': case when list_contains(l.mlp, 'dense') then macros.dense_width(k, z) else 0 end,
    'shared_intermediate': case when z.experts = 0 then 0 else macros.shared_width(k) end,
    'attention_layers': macros.count_of(l.attention, 'full') + macros.count_of(l.attention, 'window'),
    'query_matrices': case
        when k.attn_output_gate or k.model_type in ('qwen3_next', 'qwen3_5_text', 'qwen3_5_moe_text') then 2
        else 1
    end,
    'is_qk_norm_shared': macros.is_qk_norm_shared(k),
    'is_mla': k.kv_lora_rank is not null,
    'q_lora': case when k.kv_lora_rank is not null then coalesce(k.q_lora_rank, 0) else 0 end,
    'kv_lora': coalesce(k.kv_lora_rank, 0),
    'nope_dim': case when k.kv_lora_rank is not null then k.qk_nope_head_dim else 0 end,
    'rope_dim': case when k.kv_lora_rank is not null then k.qk_rope_head_dim else 0 end,
    'value_dim': case when k.kv_lora_rank is not null then k.v_head_dim else 0 end,
    'index_layers': macros.index_layers(k, z),
    'index_heads': case when k.index_topk is null then 0 else k.index_n_heads end,
    'index_dim': case when k.index_topk is null then 0 else k.index_head_dim end,
    'linear_layers': macros.count_of(l.attention, 'linear'),
    'linear_params': case when list_contains(l.attention, 'linear')
        then macros.count_of(l.attention, 'linear') * l.mixer.params
        else 0e0
    end,
    'linear_state_bytes': case when list_contains(l.attention, 'linear')
        then macros.count_of(l.attention, 'linear') * (
            l.mixer.state_elements
            * case when coalesce(k.mamba_ssm_cache_dtype, k.mamba_ssm_dtype) = 'float32' then 4 else 2 end
            + 2 * l.mixer.conv_elements
        )
        else 0e0
    end,
    'mtp_layers': coalesce(k.num_nextn_predict_layers, k.mtp_num_hidden_layers, 0),
    'learned_places': coalesce(
        z.family.learned_places + coalesce(k.max_position_embeddings, k.n_positions), 0
    ),
    -- YaRN stretches what the model was trained on.
    'max_context_tokens': greatest(
        coalesce(k.max_position_embeddings, k.n_positions, k.n_ctx, k.seq_length, k.model_max_length),
        case when coalesce(k.rope_scaling.rope_type, k.rope_scaling.type) = 'yarn'
            then (k.rope_scaling.factor * coalesce(k.rope_scaling.original_max_position_embeddings, k.max_position_embeddings))::bigint
        end
    )
};

-- Layers with an indexer of their own, which chooses the tokens that sparse attention reads; the others take the last one's choice. Its
-- layers are counted from 0, as in the files.
-- Source: is_skip_topk of vLLM's models/deepseek_v2.py; GlmMoeDsaConfig of Hugging Face transformers 5.
--   select macros.index_layers(k, z) from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k
--   from seeds.model_configs where model = 'deepseek-v3.2'))
create macro macros.index_layers(k, z) as case
    when k.index_topk is null then 0
    when k.indexer_types is not null then macros.count_of(k.indexer_types[:z.layers], 'full')
    else len(list_filter(
        range(coalesce(z.layers, 0)),
        lambda i: greatest(i - coalesce(k.index_skip_topk_offset, 2) + 1, 0) % greatest(coalesce(k.index_topk_freq, 1), 1) = 0
    ))
end;

-- Whether queries and keys are normalised with statistics over all heads, so that the GPUs of a tensor-parallel group
-- exchange them in each layer: once more beside the two all-reduces. Most families that normalise do it head by head,
-- for which no GPU needs another; use_qk_norm alone does not tell the two apart.
-- Source: vLLM's minimax_m2.py, forward_qk of its tensor-parallel RMSNorm; the size of q_norm in modeling_<family>.py of Hugging Face transformers 5.19, heads x head_dim or head_dim.
--   select macros.is_qk_norm_shared(macros.model_keys('{"model_type": "minimax_m2", "qk_norm_type": "per_layer"}'))
create macro macros.is_qk_norm_shared(k) as coalesce(
    k.qk_norm_type = 'per_layer',
    k.model_type in ('minimax_m2', 'olmo2', 'olmo3', 'olmoe') and coalesce(k.use_qk_norm, true),
    false
);

-- Experts that one token goes through, as the keys of a config.json say.
--   select macros.experts_of_token(k) from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')
create macro macros.experts_of_token(k) as coalesce(
    macros.number_in(k.num_experts_per_tok), macros.number_in(k.num_experts_per_token),
    macros.number_in(k.experts_per_token), macros.number_in(k.moe_topk), macros.number_in(k.moe_k)
);

-- Key and value heads, as the keys of a config.json say; null where they are as many as the others.
--   select macros.kv_heads_said(k) from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')
create macro macros.kv_heads_said(k) as
    coalesce(k.num_key_value_heads, k.num_kv_heads, k.n_head_kv);

-- How often a kind is in a list of kinds.
--   select macros.count_of(['full', 'window', 'full'], 'full')
create macro macros.count_of(kinds, kind) as
    len(list_filter(kinds, lambda one: one = kind));

-- Width of a dense layer's MLP. Llama 4's experts have intermediate_size, its dense layers
-- another; GPT-2, BLOOM and Falcon say nothing where it is four times the hidden size.
--   select macros.dense_width(k, z) from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k
--   from seeds.model_configs where model = 'jamba-v0.1'))
create macro macros.dense_width(k, z) as case
    when z.experts = 0 then coalesce(
        k.intermediate_size_mlp,
        -- Granite's hybrids without experts keep the shared one.
        case when k.model_type = 'granitemoehybrid' then k.shared_intermediate_size end,
        k.intermediate_size, k.n_inner, k.ffn_dim, k.ffn_hidden_size,
        case when k.model_type in ('gpt2', 'bloom', 'falcon') then 4 * z.hidden end
    )
    else coalesce(k.intermediate_size_mlp, k.intermediate_size)
end;

-- Width of one expert's MLP, as the keys of a config.json say.
--   select macros.expert_width(k) from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')
create macro macros.expert_width(k) as
    coalesce(macros.number_in(k.moe_intermediate_size), k.intermediate_size, k.ffn_dim);

-- Width of all shared experts together.
--   select macros.shared_width(k) from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')
create macro macros.shared_width(k) as coalesce(
    k.shared_expert_intermediate_size,
    k.moe_shared_expert_intermediate_size * coalesce(k.n_shared_experts, 1),
    k.shared_intermediate_size,
    coalesce(k.n_shared_experts, k.num_shared_experts, k.moe_num_shared_experts, macros.number_in(k.num_shared_expert)) * macros.expert_width(k),
    case when k.model_type = 'llama4_text' then k.intermediate_size end,
    0
);
