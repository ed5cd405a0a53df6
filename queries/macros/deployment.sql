-- macros.deployment(...) is one row: a model in a format on some GPUs under an
-- engine, with all that the step macros need, so that they can be asked about any
-- row:
--   select macros.decode_s(d, 32, 32 * 2000, 32 * 2000)
--   from macros.deployment('H200', 'llama-3.1-70b', 1, 'fp8', null, 'vllm', null, null, null) as d
-- Columns that are given as arguments want their table's name in front: bare names are
-- looked up inside the macro first.
-- No row: the GPU, the model or a format is not in the seeds, or the format covers
-- experts alone and the model has none. A null weight format is the model's own, a null
-- or 'auto' format of the KV cache is BF16, null limits are the engine's defaults.
--
-- Sizes are per GPU. "plain" weights stay in 16 bits, "packed" ones are in the
-- weight format. Rates (*_per_s) are what is reached, but for hbm_bytes_per_s, the peak.

-- The nearest value of each constant, by name and format.
create macro macros.constants_for(of_gpu, of_engine, of_version, of_formats) as table
select
    constants.name,
    asked.format,
    arg_min(
        constants.value,
        macros.constant_distance(
            constants.engine, constants.engine_version, constants.gpu, constants.format, of_version
        )
    ) as value
from (select unnest(of_formats) as format) as asked
inner join seeds.constants
    on constants.engine in ('*', of_engine)
    and constants.gpu in ('*', of_gpu)
    and constants.format in ('*', asked.format)
group by
    constants.name,
    asked.format;

create macro macros.deployment(
    of_gpu, of_model, of_tensor_parallel_size, of_weight_format, of_kv_format,
    of_engine, of_engine_version, of_max_num_seqs, of_max_num_batched_tokens
) as table
with named as (
    select
        gpus as gpu,
        models as model,
        weight_formats as weight,
        kv_formats as kv,
        coalesce(of_tensor_parallel_size, 1)::double as gpu_count,
        coalesce(nullif(lower(of_engine), ''), 'vllm') as engine,
        -- What multiplies the weights: a GPU without FP8 or FP4 unpacks to BF16.
        case
            when weight_formats.compute = 'fp4' and gpus.fp4_flop_per_s is not null then 'fp4'
            when weight_formats.compute = 'fp8' and gpus.fp8_flop_per_s is not null then 'fp8'
            else 'bf16'
        end as compute
    from macros.gpus() as gpus
    cross join macros.models_named(of_model) as models
    cross join seeds.formats as weight_formats
    cross join seeds.formats as kv_formats
    where macros.is_named(gpus.gpu, gpus.aliases, of_gpu)
        and macros.is_named(weight_formats.format, weight_formats.aliases, coalesce(nullif(nullif(of_weight_format, ''), 'auto'), models.native_format))
        and (weight_formats.covers = 'all' or models.experts > 0)
        and macros.is_named(kv_formats.format, kv_formats.aliases, coalesce(nullif(nullif(of_kv_format, ''), 'auto'), 'bf16'))
        and kv_formats.kv_bytes is not null
),

constant as (
    select map_from_entries(list((nearest.name || ' ' || nearest.format, nearest.value))) as value_of
    from named
    cross join lateral macros.constants_for(
        named.gpu.gpu, named.engine, of_engine_version,
        list_distinct(['bf16', named.weight.format, named.kv.format, named.compute])
    ) as nearest
),

all_reduce as (
    select
        exp(min(bends.ln_seconds)) as first_s,
        list({'ln_bytes': bends.ln_bytes, 'slope_change': bends.slope_change} order by bends.ln_bytes) as bends
    from macros.all_reduce_bends(of_tensor_parallel_size) as bends
)

select
    named.gpu.gpu as gpu,
    named.model.model as model,
    named.gpu_count::bigint as tensor_parallel_size,
    named.weight.format as weight_format,
    named.kv.format as kv_format,
    named.engine,
    of_engine_version as engine_version,
    coalesce(of_max_num_seqs, constant.value_of['max_num_seqs bf16'])::bigint as max_num_seqs,
    coalesce(of_max_num_batched_tokens, constant.value_of['max_num_batched_tokens bf16'])::bigint
        as max_num_batched_tokens,

    named.model.layers,
    case when named.model.experts > 0 then named.model.layers else 0 end as expert_layers,
    named.model.hidden,
    named.model.query_heads,
    named.model.head_dim,
    named.model.experts,
    named.model.experts_per_token,
    named.model.window_tokens,
    named.model.windowed_layers,

    -- Bytes that each step streams: everything but the embedding table.
    2 * (
        macros.head_params(named.model) + macros.router_params(named.model)
        + case when named.weight.covers = 'all' then 0 else macros.attention_params(named.model) end
    ) / named.gpu_count as plain_bytes,
    named.weight.bytes_per_weight * (
        macros.mlp_params(named.model)
        + case when named.weight.covers = 'all' then macros.attention_params(named.model) else 0 end
    ) / named.gpu_count as packed_bytes,
    named.weight.bytes_per_weight * named.model.layers * macros.expert_params(named.model)
    / named.gpu_count as expert_bytes,
    case when named.model.is_tied then 0 else 2 * macros.head_params(named.model) end
    / named.gpu_count as embedding_bytes,

    -- Of one token in one layer; KV heads are repeated once there are more GPUs than heads.
    2 * named.model.kv_heads * named.model.head_dim * named.kv.kv_bytes
    / least(named.gpu_count, named.model.kv_heads) as kv_layer_token_bytes,

    -- Parameters that multiply one token, by what multiplies them.
    macros.head_params(named.model) / named.gpu_count as head_params,
    (
        macros.router_params(named.model)
        + case when named.weight.covers = 'all' then 0 else macros.attention_params(named.model) end
    ) / named.gpu_count as plain_params,
    (
        macros.mlp_params(named.model)
        + named.model.layers * named.model.experts_per_token * macros.expert_params(named.model)
        + case when named.weight.covers = 'all' then macros.attention_params(named.model) else 0 end
    ) / named.gpu_count as packed_params,

    named.gpu.memory_bytes,
    named.gpu.hbm_bytes_per_s,
    named.gpu.hbm_bytes_per_s * constant.value_of['weight_bandwidth_ratio bf16'] as plain_bytes_per_s,
    named.gpu.hbm_bytes_per_s * constant.value_of['weight_bandwidth_ratio ' || named.weight.format]
        as packed_bytes_per_s,
    named.gpu.hbm_bytes_per_s * constant.value_of['kv_bandwidth_ratio ' || named.kv.format] as kv_bytes_per_s,
    named.gpu.bf16_flop_per_s * constant.value_of['compute_ratio bf16'] as plain_flop_per_s,
    case named.compute
        when 'fp4' then named.gpu.fp4_flop_per_s
        when 'fp8' then named.gpu.fp8_flop_per_s
        else named.gpu.bf16_flop_per_s
    end * constant.value_of['compute_ratio ' || named.compute] as packed_flop_per_s,
    constant.value_of['roof_hardness bf16'] as roof_hardness,
    constant.value_of['layer_s bf16'] as layer_s,
    constant.value_of['expert_layer_s bf16'] as expert_layer_s,
    constant.value_of['step_s bf16'] as step_s,
    constant.value_of['sequence_s bf16'] as sequence_s,
    constant.value_of['prefill_share bf16'] as prefill_share,
    case when named.gpu.link = 'pcie' then constant.value_of['pcie_all_reduce_ratio bf16'] else 1 end
    * all_reduce.first_s as all_reduce_first_s,
    all_reduce.bends as all_reduce_bends,
    constant.value_of['memory_utilization bf16'] as memory_utilization,
    constant.value_of['other_memory_bytes bf16'] as other_memory_bytes
from named
cross join constant
cross join all_reduce;
