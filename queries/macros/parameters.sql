-- Parameters of a model, from the fields of its config.json. `model` is a row
-- of macros.models(), or a macros.model_config(...). Biases and norms, less than
-- 0.1 %, are left out. The casts keep the products out of 64-bit integers.
-- group: model

-- One layer's query, key, value and output matrices; with a latent cache (MLA) the way
-- down to it and up from it.
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

-- Attention of all layers, and what stands in its place in a hybrid's other layers.
create macro macros.attention_params(model) as
    model.attention_layers * macros.attention_layer_params(model) + model.linear_params;

-- MLPs of the layers without experts, and the shared experts of the others.
create macro macros.mlp_params(model) as
    model.mlp_matrices::double * model.hidden * (
        model.dense_layers * model.dense_intermediate
        + model.expert_layers * model.shared_intermediate
    );

-- One expert of one layer.
create macro macros.expert_params(model) as
    model.mlp_matrices::double * model.hidden * model.expert_intermediate;

-- Routers of all layers.
create macro macros.router_params(model) as
    model.expert_layers::double * model.experts * model.hidden;

-- The output head; the embedding table has the same size.
create macro macros.head_params(model) as
    model.vocab::double * model.hidden;

-- All parameters of the model.
create macro macros.total_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.expert_layers * model.experts * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model) * case when model.is_tied then 1 else 2 end
    + model.learned_places::double * model.hidden;

-- Parameters that multiply one token: a token goes through its own experts and
-- the output head; the embedding is a lookup.
create macro macros.active_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.expert_layers * model.experts_per_token * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model);

-- What a checkpoint holds besides: layers that predict more than one token ahead, each with
-- a layer of the model's, a matrix of two hidden sizes, an embedding and a head. Not
-- streamed unless they are used.
create macro macros.mtp_params(model) as
    model.mtp_layers * (
        macros.attention_layer_params(model)
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
create macro macros.kv_layer_token_elements(model) as
    case when model.is_mla
        then model.kv_lora + model.rope_dim
        else 2 * model.kv_heads * model.head_dim
    end;

-- Bytes of all weights as a checkpoint holds them: what is plain in its format in `plain_width` bytes (4 in
-- float32), the rest in `bytes_per_weight`.
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

create macro macros.width_of(model, part, plain_width, bytes_per_weight) as
    case when list_contains(model.plain_parts, part) then plain_width else bytes_per_weight end;

-- The same of a config.json as it stands.
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

create macro macros.plain_width(k) as
    case when coalesce(k.dtype, k.torch_dtype) = 'float32' then 4 else 2 end;
