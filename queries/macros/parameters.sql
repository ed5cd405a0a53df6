-- Parameters of a model, from the fields of its config.json. `model` is a row
-- of seeds.models. Biases and norms, less than 0.1 %, are left out.
-- The casts keep the products out of 64-bit integers.

-- Query, key, value and output matrices of all layers.
create macro macros.attention_params(model) as
    model.layers::double * model.hidden * model.head_dim * 2
    * (model.query_heads + model.kv_heads);

-- Gated MLPs (gate, up, down) of all layers without experts.
create macro macros.mlp_params(model) as
    case when model.experts = 0
        then model.layers::double * 3 * model.hidden * model.intermediate
        else 0e0
    end;

-- One expert of one layer.
create macro macros.expert_params(model) as
    3e0 * model.hidden * model.expert_intermediate;

-- Routers of all layers.
create macro macros.router_params(model) as
    model.layers::double * model.experts * model.hidden;

-- The output head; the embedding table has the same size.
create macro macros.head_params(model) as
    model.vocab::double * model.hidden;

-- All parameters of the model.
create macro macros.total_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.layers * model.experts * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model) * case when model.is_tied then 1 else 2 end;

-- Parameters that multiply one token: a token goes through its own experts and
-- the output head; the embedding is a lookup.
create macro macros.active_params(model) as
    macros.attention_params(model)
    + macros.mlp_params(model)
    + model.layers * model.experts_per_token * macros.expert_params(model)
    + macros.router_params(model)
    + macros.head_params(model);
