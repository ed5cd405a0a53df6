-- Parameters of a model, from the fields of its config.json. `model` is a row
-- of macros.models(), or a macros.model_config(...). Biases and norms, less than
-- 0.1 %, are left out. The casts keep the products out of 64-bit integers.
-- group: model

-- One layer's query, key, value and output matrices; with a latent cache (MLA) the way
-- down to it and up from it.
--   select macros.attention_layer_params(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.attention_layer_params(model) as
    case when model.is_mla
        then case when model.q_lora > 0
            then model.hidden::double * model.q_lora
                + model.q_lora::double * model.query_heads * (model.nope_dim + model.rope_dim)
            else model.hidden::double * model.query_heads * (model.nope_dim + model.rope_dim)
        end
        + model.hidden::double * (model.kv_lora + model.rope_dim)
        + model.kv_lora::double * model.query_heads * (model.nope_dim + model.value_dim)
        + model.query_heads::double * model.value_dim * model.hidden
        else model.hidden::double * model.head_dim
            * (model.query_heads * (1 + model.query_matrices) + 2 * model.kv_heads)
    end;

-- One indexer of sparse attention: its queries come from the compressed ones, its key and the weights of its heads from the hidden state.
-- Source: Indexer of vLLM's models/deepseek_v2.py.
--   select macros.indexer_params(m) from seeds.models as m where m.model = 'deepseek-v3.2'
create macro macros.indexer_params(model) as
    model.q_lora::double * model.index_heads * model.index_dim
    + model.hidden::double * (model.index_dim + model.index_heads);

-- Attention of all layers, indexers with it, and what stands in its place in a hybrid's other layers.
--   select macros.attention_params(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.attention_params(model) as
    model.attention_layers * macros.attention_layer_params(model)
    + model.index_layers * macros.indexer_params(model)
    + model.linear_params;

-- MLPs of the layers without experts, and the shared experts of the others.
--   select macros.mlp_params(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.mlp_params(model) as
    model.mlp_matrices::double * model.hidden * (
        model.dense_layers * model.dense_intermediate
        + model.expert_layers * model.shared_intermediate
    );

-- Parameters of one expert of one layer.
--   select macros.expert_params(m) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.expert_params(model) as
    model.mlp_matrices::double * model.hidden * model.expert_intermediate;

-- Parameters of the routers of all layers.
--   select macros.router_params(m) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.router_params(model) as
    model.expert_layers::double * model.experts * model.hidden;

-- Parameters of the output head; the embedding table has the same size.
--   select macros.head_params(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.head_params(model) as
    model.vocab::double * model.hidden;

-- All parameters of the model.
--   select macros.total_params(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.total_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.expert_layers * model.experts * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model) * case when model.is_tied then 1 else 2 end
    + model.learned_places::double * model.hidden;

-- Parameters that multiply one token: a token goes through its own experts and
-- the output head; the embedding is a lookup.
--   select macros.active_params(m) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.active_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.expert_layers * model.experts_per_token * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model);

-- What a checkpoint holds besides: layers that predict more than one token ahead, each with
-- a layer of the model's, a matrix of two hidden sizes, an embedding and a head. Not
-- streamed unless they are used.
--   select macros.mtp_params(m) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.mtp_params(model) as
    model.mtp_layers * (
        macros.attention_layer_params(model)
        + macros.indexer_params(model)
        + case when model.experts > 0
            then (model.experts * model.expert_intermediate + model.shared_intermediate)::double
                * model.mlp_matrices * model.hidden
            else model.mlp_matrices::double * model.hidden * model.dense_intermediate
        end
        + 2e0 * model.hidden * model.hidden
        + 2 * macros.head_params(model)
    );

-- Numbers that the KV cache keeps of one token in one layer that has one, on all GPUs
-- together; the latent cache (MLA) is one and the same on each.
--   select macros.kv_layer_token_elements(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.kv_layer_token_elements(model) as
    case when model.is_mla
        then model.kv_lora + model.rope_dim
        else 2 * model.kv_heads * model.head_dim
    end;

-- Bytes of all weights as a checkpoint holds them: what is plain in its format in `plain_width` bytes (4 in
-- float32), the rest in `bytes_per_weight`.
--   select macros.checkpoint_bytes(m, 2, 1) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.checkpoint_bytes(model, plain_width, bytes_per_weight) as
    plain_width * (
        (2 - model.is_tied::int) * macros.head_params(model)
        + macros.router_params(model)
        + model.learned_places * model.hidden
    )
    + macros.width_of(model, 'attention', plain_width, bytes_per_weight) * macros.attention_params(model)
    + macros.width_of(model, 'mlp', plain_width, bytes_per_weight) * macros.mlp_params(model)
    + macros.width_of(model, 'experts', plain_width, bytes_per_weight)
        * model.expert_layers * model.experts * macros.expert_params(model)
    + bytes_per_weight * (macros.mtp_params(model) - model.mtp_layers * 2 * macros.head_params(model))
    + plain_width * model.mtp_layers * 2 * macros.head_params(model);

-- Bytes a weight of a part of a model: plain_width where the part stays in 16 or 32 bits, else bytes_per_weight.
--   select macros.width_of(m, 'router', 2, 1) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.width_of(model, part, plain_width, bytes_per_weight) as
    case when list_contains(model.plain_parts, part) then plain_width else bytes_per_weight end;

-- Bytes of all weights as a checkpoint with this config.json holds them.
--   select macros.config_bytes('{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
--       "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}')
create macro macros.config_bytes(config) as (
    select macros.checkpoint_bytes(
        asked.model,
        macros.plain_width(asked.keys),
        case when asked.model.native_format = 'bf16' then macros.plain_width(asked.keys)
            else coalesce(asked.model.native_bytes_per_weight, formats.bytes_per_weight)
        end
    )
    from (select macros.model_config(config) as model, macros.model_keys(config) as keys) as asked
    inner join seeds.formats on formats.format = asked.model.native_format
);

-- Bytes of a weight that is not quantized: 4 where the config says float32, else 2.
--   select macros.plain_width(k) from (select macros.model_keys(config) as k from seeds.model_configs where model = 'gpt-oss-120b')
create macro macros.plain_width(k) as
    case when coalesce(k.dtype, k.torch_dtype) = 'float32' then 4 else 2 end;
