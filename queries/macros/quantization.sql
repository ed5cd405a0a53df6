-- The format of a checkpoint's weights, from the quantization_config of its config.json
-- (`q`), in the names of seeds.formats; null: a way of quantizing that is not known.
-- group: configs

-- The format of a checkpoint's weights, from the quantization_config of its config.json (`q`), in the names of seeds.formats; null: a
-- way of quantizing that is not known.
--   select macros.native_format(q) from (select macros.model_keys(config).quantization_config as q from seeds.model_configs
--   where model = 'gpt-oss-120b')
create macro macros.native_format(q) as case
    when q is null or coalesce(q.quant_method, q.quant_algo) is null then 'bf16'
    when lower(q.quant_method) = 'compressed-tensors' then
        macros.packed_format(q.format, (q.config_groups->'$.*.weights')[1], (q.config_groups->'$.*.input_activations')[1])
    when q.quant_algo is not null then case
        when upper(q.quant_algo) in ('FP8', 'FP8_PER_CHANNEL_PER_TOKEN') then 'fp8'
        when upper(q.quant_algo) in ('FP8_PB_WO', 'FP8_BLOCK') then 'fp8_block'
        when upper(q.quant_algo) in ('NVFP4', 'NVFP4_AWQ') then 'nvfp4'
        when upper(q.quant_algo) = 'W4A16_AWQ' then 'awq'
        when upper(q.quant_algo) = 'MXFP4' then 'mxfp4'
    end
    when lower(q.quant_method) = 'fp8' then case when json_type(q.weight_block_size) = 'ARRAY' then 'fp8_block' else 'fp8' end
    when lower(q.quant_method) = 'fbgemm_fp8' then 'fp8'
    when lower(q.quant_method) = 'awq' and coalesce(q.bits, q.w_bit, 4) = 4 then 'awq'
    when lower(q.quant_method) = 'gptq' and q.bits = 4 then 'gptq'
    when lower(q.quant_method) = 'gptq' and q.bits = 8 then 'w8a16'
    when lower(q.quant_method) = 'mxfp4' then 'mxfp4'
end;

-- Why the format of a checkpoint's weights is not known, in words; null where it is. `q` is its quantization_config.
--   select macros.quantization_problem(q)
--   from (select macros.model_keys('{"quantization_config": {"quant_method": "gptq", "bits": 3}}').quantization_config as q)
create macro macros.quantization_problem(q) as case
    when macros.native_format(q) is not null then null
    when lower(q.quant_method) = 'compressed-tensors' then 'quantization_config: compressed-tensors '
        || coalesce('with weights of ' || ((q.config_groups->'$.*.weights')[1]->>'num_bits') || ' bits', 'without num_bits of weights in config_groups')
        || ' is not known: 4 and 8 are'
    when q.quant_algo is null and lower(q.quant_method) in ('awq', 'gptq') then 'quantization_config: ' || lower(q.quant_method)
        || coalesce(' with ' || coalesce(q.bits, q.w_bit) || ' bits', ' without bits') || ' is not known: '
        || case lower(q.quant_method) when 'gptq' then '4 and 8 are' else '4 is' end
    else 'quantization_config: quant_method "' || coalesce(q.quant_method, '')
        || '"' || coalesce(' with quant_algo "' || q.quant_algo || '"', '') || ' is not known'
end;

-- compressed-tensors: bits, type and grouping of the first group's weights; activations in
-- fewer than 16 bits make the multiplication one of theirs.
--   select macros.packed_format('pack-quantized', '{"num_bits": 4, "type": "int"}'::json, null)
create macro macros.packed_format(format, weights, activations) as case
    when (weights->>'type') = 'float' and (weights->>'num_bits') = '8' and (weights->>'strategy') = 'block' then 'fp8_block'
    when (weights->>'type') = 'float' and (weights->>'num_bits') = '8' then 'fp8'
    when (weights->>'type') = 'float' and (weights->>'num_bits') = '4' and starts_with(format, 'mxfp4') then 'mxfp4'
    when (weights->>'type') = 'float' and (weights->>'num_bits') = '4' then 'nvfp4'
    when (weights->>'num_bits') = '8' and json_type(activations) = 'OBJECT' then 'int8'
    when (weights->>'num_bits') = '8' then 'w8a16'
    when (weights->>'num_bits') = '4' and coalesce(weights->>'symmetric', 'true') = 'true' then 'gptq'
    when (weights->>'num_bits') = '4' then 'awq'
end;

-- Bytes a weight with its scales where groups are not the usual 128: (bits + (16 + bits of a
-- zero) / group) / 8; null: as seeds.formats has it. A negative group is a whole channel.
--   select macros.native_bytes_per_weight(q)
--   from (select macros.model_keys('{"quantization_config": {"quant_method": "gptq", "bits": 4,
--       "group_size": 32}}').quantization_config as q)
create macro macros.native_bytes_per_weight(q) as case
    when not coalesce(macros.native_format(q) in ('awq', 'gptq', 'w8a16'), false) then null
    when lower(q.quant_method) = 'compressed-tensors' then macros.grouped_bytes(
        ((q.config_groups->'$.*.weights')[1]->>'num_bits')::bigint,
        ((q.config_groups->'$.*.weights')[1]->>'group_size')::bigint,
        coalesce((q.config_groups->'$.*.weights')[1]->>'symmetric', 'true') <> 'true'
    )
    else macros.grouped_bytes(
        coalesce(q.bits, q.w_bit, 4), coalesce(q.group_size, q.q_group_size, 128),
        case when lower(q.quant_method) = 'gptq' then not coalesce(q.sym, true) else coalesce(q.zero_point, true) end
    )
end;

-- Bytes a weight of so many bits with a 16-bit scale for each group, and a zero where has_zeros; a group of 0 or less is a whole
-- channel.
--   select macros.grouped_bytes(4, 128, false)
create macro macros.grouped_bytes(bits, group_size, has_zeros) as
    case when group_size > 0
        then (bits + (16 + case when has_zeros then bits else 0 end)::double / group_size) / 8
        else bits / 8e0
    end;

-- The format of the KV cache that vLLM takes by itself because the checkpoint says so.
--   select macros.native_kv_format(q) from (select macros.model_keys(config).quantization_config as q from seeds.model_configs
--   where model = 'gpt-oss-120b')
create macro macros.native_kv_format(q) as case
    when upper(q.kv_cache_quant_algo) = 'FP8' then 'fp8'
    when (q.kv_cache_scheme->>'num_bits') = '8' then 'fp8'
    else 'bf16'
end;

-- Which of 'attention', 'head', 'router', 'mlp' and 'experts' stay in 16 bits in that format.
-- 'mlp' is the dense layers and the shared experts. Embedding and norms always do.
--   select macros.plain_parts(q, 36) from (select macros.model_keys(config).quantization_config as q from seeds.model_configs
--   where model = 'gpt-oss-120b')
create macro macros.plain_parts(q, layers) as
    list_filter([
        case when macros.are_left_out(macros.left_out(q), 'attn|attention', 'linear_attn|indexer', layers) then 'attention' end,
        case when not coalesce(q.lm_head, false) then 'head' end,
        'router',
        case when macros.are_left_out(
            macros.left_out(q), 'mlp|feed_forward|shared_expert', '[^_]expert|gate$|gate[$]|gate\*|router|shared_expert_gate', layers
        ) then 'mlp' end,
        case when macros.are_left_out(macros.left_out(q), '(^|[^d])[._*]experts?', 'shared', layers) then 'experts' end
    ], lambda part: part is not null);

-- The names of what a quantization_config leaves in 16 bits, from all the keys that say so.
--   select macros.left_out(q) from (select macros.model_keys(config).quantization_config as q from seeds.model_configs
--   where model = 'gpt-oss-120b')
create macro macros.left_out(q) as
    list_concat(q.modules_to_not_convert, q.ignore, q.exclude_modules, q.ignored_layers);

-- Whether the names hold a part of every layer, or of half of the layers one by one.
--   select macros.are_left_out(['model.layers.*.self_attn'], 'attn', 'linear_attn', 36)
create macro macros.are_left_out(names, pattern, but_not, layers) as
    len(list_filter(names::varchar[], lambda name:
        regexp_matches(name, pattern) and not regexp_matches(name, but_not) and not regexp_matches(name, 'layers[.]\d')
    )) > 0
    or 2 * len(list_distinct(list_transform(
        list_filter(names::varchar[], lambda name: regexp_matches(name, pattern) and not regexp_matches(name, but_not)),
        lambda name: regexp_extract(name, 'layers[.](\d+)', 1)
    ))) >= layers;
