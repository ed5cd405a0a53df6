-- group: configs

-- What stands in the place of attention in a hybrid model's layers: its parameters, and what
-- it keeps of a sequence, however long that is. One layer of each kind:
--   params          matrices, convolution and whatever else the layer has
--   state_elements  the recurrent state of one sequence
--   conv_elements   the last inputs of the convolution, one sequence
-- Sources: modeling_qwen3_next.py, modeling_kimi.py, modeling_nemotron_h.py, modeling_granitemoehybrid.py
-- and modeling_jamba.py of their publishers.
--   select macros.linear_mixer(k, z) from (select k, macros.model_sizes(k) as z from (select macros.model_keys(config) as k
--   from seeds.model_configs where model = 'jamba-v0.1'))
create macro macros.linear_mixer(k, z) as case
    when k.linear_num_value_heads is not null then macros.delta_net(
        z.hidden::double,
        k.linear_num_key_heads * k.linear_key_head_dim,
        k.linear_num_value_heads * k.linear_value_head_dim,
        k.linear_num_value_heads, k.linear_key_head_dim, coalesce(k.linear_conv_kernel_dim, 4)
    )
    when k.linear_attn_config.num_heads is not null then macros.kimi_delta(
        z.hidden::double, k.linear_attn_config.num_heads, k.linear_attn_config.head_dim,
        coalesce(k.linear_attn_config.short_conv_kernel_size, 4)
    )
    when coalesce(k.mamba_n_heads, k.mamba_num_heads) is not null then macros.mamba_2(
        z.hidden::double,
        coalesce(k.mamba_n_heads, k.mamba_num_heads),
        coalesce(
            macros.number_in(k.mamba_d_head), k.mamba_head_dim,
            coalesce(k.mamba_expand, k.expand, 2) * z.hidden // coalesce(k.mamba_n_heads, k.mamba_num_heads)
        ),
        coalesce(k.mamba_d_state, k.ssm_state_size),
        coalesce(k.mamba_n_groups, k.n_groups, 1),
        coalesce(k.mamba_d_conv, k.conv_kernel, 4)
    )
    when k.mamba_d_state is not null then macros.mamba_1(
        z.hidden::double, coalesce(k.mamba_expand, 2) * z.hidden, k.mamba_d_state,
        coalesce(k.mamba_d_conv, 4), coalesce(macros.number_in(k.mamba_dt_rank), ceil(z.hidden / 16))
    )
end;

-- One kind of layer as a struct: what macros.linear_mixer gives, with its three arguments as fields.
--   select macros.mixer(1e6, 65536, 4096)
create macro macros.mixer(params, state_elements, conv_elements) as {
    'params': params::double,
    'state_elements': state_elements::double,
    'conv_elements': conv_elements::double
};

-- Gated DeltaNet (Qwen3-Next): queries, keys, values, a gate, two numbers a head; output.
--   select macros.delta_net(2048e0, 2048, 4096, 32, 128, 4)
create macro macros.delta_net(hidden, key_width, value_width, heads, key_dim, kernel) as macros.mixer(
    hidden * (2 * key_width + 2 * value_width + 2 * heads)
    + (2 * key_width + value_width) * kernel
    + value_width * hidden,
    value_width * key_dim,
    (2 * key_width + value_width) * (kernel - 1)
);

-- Kimi Delta Attention: queries, keys, values, output; two gates through one head's width; a number a head.
--   select macros.kimi_delta(2304e0, 32, 128, 4)
create macro macros.kimi_delta(hidden, heads, head_dim, kernel) as macros.mixer(
    hidden * heads * head_dim * 4
    + 2 * (hidden * head_dim + head_dim * heads * head_dim)
    + hidden * heads
    + 3 * heads * head_dim * kernel,
    heads * head_dim * head_dim,
    3 * heads * head_dim * (kernel - 1)
);

-- Mamba 2: gate, input, B, C and a step size a head; output.
--   select macros.mamba_2(4096e0, 128, 64, 128, 8, 4)
create macro macros.mamba_2(hidden, heads, head_dim, state, groups, kernel) as macros.mixer(
    hidden * (2 * heads * head_dim + 2 * groups * state + heads)
    + (heads * head_dim + 2 * groups * state) * kernel
    + heads * head_dim * hidden,
    heads * head_dim * state,
    (heads * head_dim + 2 * groups * state) * (kernel - 1)
);

-- Mamba 1: input and gate; step size, B and C of it; the step size's own matrix; A; output.
--   select macros.mamba_1(4096e0, 8192, 16, 4, 256)
create macro macros.mamba_1(hidden, inner_width, state, kernel, dt_rank) as macros.mixer(
    hidden * 2 * inner_width
    + inner_width * kernel
    + inner_width * (dt_rank + 2 * state)
    + dt_rank * inner_width
    + inner_width * state
    + inner_width * hidden,
    inner_width * state,
    inner_width * (kernel - 1)
);
