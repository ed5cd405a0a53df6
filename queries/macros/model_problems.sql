-- What a config.json lacks for the bandwidth model: a list of sentences, each with the spellings that were tried;
-- empty where all is there. Nothing is guessed for a family that is not known.

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

create macro macros.problems_of(k, z, l) as [
    case
        when k.model_type is null then 'no model_type'
        when z.family is null then 'model_type "' || k.model_type || '" is an architecture that is not known'
    end,
    case when not coalesce(z.layers > 0, false) then 'no num_hidden_layers (n_layer, n_layers, num_layers)' end,
    case when not coalesce(z.hidden > 0, false) then 'no hidden_size (n_embd, n_embed, d_model)' end,
    case when not coalesce(z.heads > 0, false) then 'no num_attention_heads (n_head, n_heads)' end,
    case when not coalesce(k.vocab_size > 0, false) then 'no vocab_size' end,
    case when k.head_dim is null and k.attention_head_dim is null and k.kv_lora_rank is null and z.hidden % z.heads <> 0
        then 'no head_dim, and hidden_size is not a multiple of num_attention_heads' end,
    case when k.kv_lora_rank is not null and (k.qk_nope_head_dim is null or k.qk_rope_head_dim is null or k.v_head_dim is null)
        then 'kv_lora_rank without qk_nope_head_dim, qk_rope_head_dim or v_head_dim' end,
    case when k.index_topk is not null
        then 'index_topk: attention to chosen tokens only is not modelled' end,
    case when (len(l.mlp) = 0 or list_contains(l.mlp, 'dense')) and not coalesce(macros.dense_width(k, z) > 0, false)
        then 'no intermediate_size (n_inner, ffn_dim, ffn_hidden_size)' end,
    case when z.experts > 0 and coalesce(
            macros.number_in(k.num_experts_per_tok), macros.number_in(k.num_experts_per_token),
            macros.number_in(k.experts_per_token), macros.number_in(k.moe_topk), macros.number_in(k.moe_k)
        ) is null
        then 'no num_experts_per_tok (num_experts_per_token, experts_per_token, moe_topk, moe_k)' end,
    case when z.experts > 0 and not coalesce(macros.expert_width(k) > 0, false)
        then 'no moe_intermediate_size (intermediate_size, ffn_dim)' end,
    case when coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) <> z.layers
        then 'layer_types (layers_block_type, hybrid_override_pattern) says '
            || coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) || ' layers, num_hidden_layers ' || z.layers end,
    -- Only where a kind of each layer is given can one be strange.
    case when coalesce(len(k.layer_types), len(k.layers_block_type), len(k.hybrid_override_pattern)) = z.layers
            and len(list_filter(l.attention, lambda kind: kind is not null)) < z.layers
        then 'layer_types (layers_block_type, hybrid_override_pattern) has a kind of layer that is not known' end,
    case when list_contains(l.attention, 'linear') and l.mixer.params is null
        then 'layers without attention, but no linear_num_value_heads, linear_attn_config, mamba_n_heads (mamba_num_heads) or mamba_d_state' end,
    case when macros.native_format(k.quantization_config) is null
        then 'quantization_config: quant_method "' || coalesce(k.quantization_config.quant_method, '')
            || '"' || coalesce(' with quant_algo "' || k.quantization_config.quant_algo || '"', '') || ' is not known'  end
];
