-- macros.deployment(asked) is one row: a model in a format on some GPUs under an
-- engine, with everything that the step macros need, so that they can be asked about any row:
--   select macros.decode_s(d, 32, 32 * 2000, 32 * 2000)
--   from macros.deployment({'gpu': 'H200', 'catalog_model': 'llama-3.1-70b', 'quantization': 'fp8'}) as d
-- `asked` is a struct, or JSON such as the environment of a run, with the fields of macros.deployment_fields. A field that
-- is missing, null, empty or 0 takes the checkpoint's or the engine's default.
-- There is no row if the GPU, the model or a format is not in the catalogue, or if the format covers
-- experts alone and the model has none. A model that begins with { is the text of a config.json.
-- of_constants is a map of constants' names to values that come before all others.
--
-- Sizes are per GPU of one replica. "plain" weights stay in 16 bits, "packed" ones are in the
-- weight format. Rates (*_per_s) are what is reached, except hbm_bytes_per_s, the peak.
-- group: model

-- The fields of a deployment, with the names that flags, environment files and run.json use
-- (internal/deployment is the same list in Go, and its test compares the two):
--   gpu                      a name or an alias in the catalogue
--   catalog_model            the same, or the text of a config.json
--   tensor_parallel_size     GPUs that share one replica
--   expert_parallel_size     GPUs that share out whole experts; 1: each expert is cut
--   data_parallel_size       replicas of everything except the experts, behind one address
--   quantization             weight format in seeds.formats
--   kv_cache_dtype           KV cache format in seeds.formats
--   compute_dtype            what multiplies the weights: bf16, fp8 or fp4
--   engine, engine_version   for the constants
--   max_num_seqs             sequences that one replica runs at once
--   max_num_batched_tokens   tokens of one engine step
--   max_model_len            longest request, tokens
--   gpu_memory_utilization   share of a GPU's memory that the engine takes
--   hbm_bytes_per_s          peak memory bandwidth of one GPU, bytes/s
--   select macros.deployment_fields({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.deployment_fields(asked) as
    from_json(to_json(asked), '{
        "gpu": "VARCHAR",
        "catalog_model": "VARCHAR",
        "tensor_parallel_size": "BIGINT",
        "expert_parallel_size": "BIGINT",
        "data_parallel_size": "BIGINT",
        "quantization": "VARCHAR",
        "kv_cache_dtype": "VARCHAR",
        "compute_dtype": "VARCHAR",
        "engine": "VARCHAR",
        "engine_version": "VARCHAR",
        "max_num_seqs": "BIGINT",
        "max_num_batched_tokens": "BIGINT",
        "max_model_len": "BIGINT",
        "gpu_memory_utilization": "DOUBLE",
        "hbm_bytes_per_s": "DOUBLE"
    }');

-- The nearest value of each constant, by name and format; a calibration of this very deployment before all, then a table of kernel times
-- of this GPU that was taken in. What was fitted to one family of models holds for no other.
--   select name, format, "constant".value from macros.constants_for('H100', 'vllm', '0.24.0', ['bf16'], null) limit 3
create macro macros.constants_for(of_gpu, of_engine, of_version, of_formats, of_deployment, of_architecture := null) as table
select
    constants.name,
    asked.format,
    arg_min(
        constants,
        case
            when constants.deployment is not null then -1e9
            when constants.measured_with is not null
                then macros.table_distance(constants.measured_with, constants.engine_version, of_engine, of_version)
                    + case when constants.architecture = '*' then 0.125e0 else 0e0 end
            else macros.constant_distance(
                constants.engine, constants.engine_version, constants.gpu, constants.format, of_version
            ) + case when constants.architecture = '*' then 0.125e0 else 0e0 end
        end
    ) as constant
from (select unnest(of_formats) as format) as asked
inner join macros.constants() as constants
    on constants.engine in ('*', of_engine)
    and constants.gpu in ('*', of_gpu)
    and constants.format in ('*', asked.format)
    and constants.architecture in ('*', of_architecture)
    and (
        constants.deployment is null
        or (
            constants.deployment = of_deployment
            and coalesce(floor(macros.version_number(constants.engine_version)) = floor(macros.version_number(of_version)), true)
        )
    )
group by
    constants.name,
    asked.format;

-- A model in a format on some GPUs under an engine, as one row with everything that the step macros need. `asked` is a struct, or JSON
-- such as the environment of a run, with the fields of macros.deployment_fields. There is no row if the GPU, the model or a format is
-- not in the catalogue. The column d is the whole row.
--   select gpu, model, weight_format, plain_bytes from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.deployment(asked, of_constants := null) as table
with said as (
    -- A misspelt field of a struct would silently be the default. JSON may be a run's of a later version: unknown fields are skipped.
    select
        case
            when typeof(asked) = 'VARCHAR' then error('macros.deployment: a text; write a struct, or the text with ::json')
            when typeof(asked) = 'JSON'
                or list_has_all(json_keys(to_json(macros.deployment_fields(asked))), json_keys(to_json(asked)))
                then macros.deployment_fields(asked)
            else error('macros.deployment: an unknown field in ' || to_json(asked) || '; the fields are in macros.deployment_fields')
        end as fields
),

named as (
    select
        said.fields,
        gpus as gpu,
        models as model,
        weight_formats as weight,
        kv_formats as kv,
        coalesce(nullif(said.fields.tensor_parallel_size, 0), 1)::double as tp,
        coalesce(nullif(said.fields.data_parallel_size, 0), 1)::double as dp,
        coalesce(nullif(said.fields.expert_parallel_size, 0), 1)::double as ep,
        coalesce(nullif(lower(said.fields.engine), ''), 'vllm') as engine,
        weight_formats.format = models.native_format as is_native,
        -- What multiplies the weights: a GPU without FP8 or FP4 unpacks to BF16.
        case
            when coalesce(nullif(said.fields.compute_dtype, ''), weight_formats.compute) = 'fp4' and gpus.fp4_flop_per_s is not null then 'fp4'
            when coalesce(nullif(said.fields.compute_dtype, ''), weight_formats.compute) = 'fp8' and gpus.fp8_flop_per_s is not null then 'fp8'
            else 'bf16'
        end as compute
    from said
    cross join lateral (select * replace (coalesce(nullif(said.fields.hbm_bytes_per_s, 0), hbm_bytes_per_s) as hbm_bytes_per_s) from macros.gpus_named(said.fields.gpu)) as gpus
    cross join macros.models_named(said.fields.catalog_model) as models
    cross join seeds.formats as weight_formats
    cross join seeds.formats as kv_formats
    where macros.is_weight_format(
            weight_formats.format, weight_formats.aliases,
            macros.meant_format(nullif(nullif(said.fields.quantization, ''), 'auto'), models.named_format, models.native_format),
            models.named_format, models.native_format
        )
        and (weight_formats.covers = 'all' or models.experts > 0)
        and macros.is_named(kv_formats.format, kv_formats.aliases, coalesce(nullif(nullif(said.fields.kv_cache_dtype, ''), 'auto'), models.native_kv_format, 'bf16'))
        and kv_formats.kv_bytes is not null
),

-- Parameters by what they are, and whether they stay in 16 bits.
parts as (
    select
        named.*,
        coalesce(case when is_native then model.native_bytes_per_weight end, weight.bytes_per_weight) as packed_weight_bytes,
        -- Indexers are whole on each GPU; what the GPUs share is divided by their number below.
        macros.attention_params(model) + (tp - 1) * model.index_layers * macros.indexer_params(model) as attention,
        macros.mlp_params(model) as mlp,
        macros.router_params(model) + macros.head_params(model) as always_plain,
        macros.is_plain(model, weight, is_native, 'attention') as is_attention_plain,
        macros.is_plain(model, weight, is_native, 'mlp') as is_mlp_plain,
        -- Experts are whole on their GPU, or cut in as many pieces.
        tp * case when ep > 1 then dp else 1 end / ep as expert_pieces,
        case when ep > 1 then dp else 1 end as expert_tokens_ratio,
        macros.deployment_key(gpu.gpu, model.model, tp::bigint, ep::bigint, dp::bigint, weight.format, kv.format, engine) as deployment_key,
        least(nullif(fields.max_model_len, 0), model.max_context_tokens) as context_tokens
    from named
),

-- What the engine takes by itself in this version and on this GPU.
defaults as (
    select any_value(one) as of_engine
    from parts
    cross join lateral macros.engine_defaults(
        parts.engine, nullif(parts.fields.engine_version, ''), parts.gpu.gpu, parts.gpu.memory_bytes, parts.context_tokens
    ) as one
),

constant as (
    select
        -- Values that the caller gives come first, by name and format or by name.
        map_from_entries(list((
            nearest.name || ' ' || nearest.format,
            coalesce(
                (of_constants::map(varchar, double))[nearest.name || ' ' || nearest.format],
                (of_constants::map(varchar, double))[nearest.name],
                nearest.constant.value
            )
        ))) as value_of,
        -- How much longer all that experts do takes than law and table have it: a calibration finds it.
        coalesce(value_of['expert_time_ratio bf16'], 1) as expert_time_ratio,
        count(distinct nearest.name) filter (where nearest.constant.deployment is not null) as calibrated,
        max(nearest.constant.source) filter (where nearest.constant.deployment is not null) as calibration,
        count(*) filter (where nearest.constant.architecture <> '*' and nearest.constant.measured_with is null) > 0 as is_fitted,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name || ' ' || nearest.format = 'weight_bandwidth_ratio bf16'
        ), 'law') as plain_from,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name || ' ' || nearest.format = 'weight_bandwidth_ratio ' || parts.weight.format
        ), 'law') as packed_from,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name = 'kv_bandwidth_ratio'
                and nearest.format = parts.kv.format
        ), 'law') as kv_from,
        -- Minor versions to the nearest one that constants were fitted to; three are far.
        coalesce(least(1e0, abs(
            floor(macros.version_number(any_value(parts.fields.engine_version)))
            - floor(macros.version_number(any_value(nearest.constant.engine_version) filter (where nearest.name = 'fitted_engine')))
        ) / 3e0), 1e0) as far
    from parts
    cross join lateral macros.constants_for(
        parts.gpu.gpu, parts.engine, nullif(parts.fields.engine_version, ''),
        list_distinct(['bf16', parts.weight.format, parts.kv.format, parts.compute]), parts.deployment_key,
        of_architecture := parts.model.architecture
    ) as nearest
),

-- Replicas that share out their experts exchange tokens instead of partial sums: before the experts and behind them. Attention that is cut
-- as well (tensor parallel) is left with all-reduces for both.
all_reduce as (
    select
        any_value(points.operation) as operation,
        arg_min(points.seconds, points.message_bytes) as first_s,
        macros.curve_line(
            list(points.message_bytes::double order by points.message_bytes), list(points.seconds order by points.message_bytes)
        ) as line,
        any_value(macros.curve_origin(points.from_engine, points.from_version, points.from_gpu, points.is_carried)) as origin,
        any_value(points.is_other_link and parts.gpu.link = 'pcie') as is_slower
    from parts
    cross join lateral macros.all_reduce_curve(
        parts.gpu.gpu, parts.engine, nullif(parts.fields.engine_version, ''), greatest(parts.tp, parts.ep), true,
        of_operation := case
            when parts.tp > 1 or parts.dp = 1 or parts.ep = 1 then 'all_reduce'
            when parts.engine = 'vllm' then 'gather_scatter'
            else 'all_to_all'
        end
    ) as points
),

-- Every power of two of tokens: between two of four times the tokens, a line is 11 % too high at 32 sequences.
expert_points as (
    select
        points.*,
        parts.weight.format as asked_format
    from parts
    cross join lateral macros.expert_curve(
        parts.gpu.gpu, parts.engine, nullif(parts.fields.engine_version, ''), parts.weight.format,
        parts.model.hidden, parts.model.expert_intermediate, parts.model.experts, parts.model.experts_per_token,
        parts.expert_pieces, parts.ep, 'power_law_1.01'
    ) as points
    qualify row_number() over (partition by floor(log2(points.tokens)) order by points.tokens) = 1
        or row_number() over (order by points.tokens desc) = 1
    order by points.tokens
),

experts as (
    select
        arg_min(seconds, tokens) as first_s,
        macros.curve_line(list(tokens::double order by tokens), list(seconds order by tokens)) as line,
        macros.curve_origin(
            any_value(from_engine), any_value(from_version),
            any_value(from_gpu) || case when any_value(from_format) <> any_value(asked_format) then ' in ' || any_value(from_format) else '' end,
            bool_or(is_carried)
        ) as origin,
        any_value(from_gpu) as gpu
    from expert_points
),

made as (
    select
        parts.gpu.gpu as gpu,
        parts.gpu.kinship as gpu_kinship,
        parts.model.model as model,
        parts.model.architecture as architecture,
        parts.tp::bigint as tensor_parallel_size,
        parts.ep::bigint as expert_parallel_size,
        parts.dp::bigint as data_parallel_size,
        parts.weight.format as weight_format,
        parts.compute as compute_format,
        parts.kv.format as kv_format,
        parts.engine,
        nullif(parts.fields.engine_version, '') as engine_version,
        coalesce(nullif(parts.fields.max_num_seqs, 0), defaults.of_engine.max_num_seqs, constant.value_of['max_num_seqs bf16'])::bigint
            as max_num_seqs,
        coalesce(
            nullif(parts.fields.max_num_batched_tokens, 0), defaults.of_engine.max_num_batched_tokens,
            constant.value_of['max_num_batched_tokens bf16']
        )::bigint as max_num_batched_tokens,
        parts.context_tokens as max_context_tokens,
        defaults.of_engine.engine_version as defaults_from,
        defaults.of_engine.has_whole_prompts,
        defaults.of_engine.is_async,
        defaults.of_engine.cuda_graphs,

        parts.model.layers,
        parts.model.attention_layers,
        parts.model.expert_layers,
        parts.model.hidden,
        parts.model.query_heads,
        parts.model.kv_heads,
        parts.model.head_dim,
        parts.model.experts,
        parts.model.experts_per_token,
        parts.expert_tokens_ratio,
        parts.model.window_tokens,
        parts.model.windowed_layers,
        parts.model.is_mla,
        parts.model.index_layers,

        -- Bytes that each step streams: everything but the embedding table. The head and the router are 16-bit.
        2 * (
            parts.always_plain
            + case when parts.is_attention_plain then parts.attention else 0 end
            + case when parts.is_mlp_plain then parts.mlp else 0 end
        ) / parts.tp as plain_bytes,
        parts.packed_weight_bytes * (
            case when parts.is_attention_plain then 0 else parts.attention end
            + case when parts.is_mlp_plain then 0 else parts.mlp end
        ) / parts.tp as packed_bytes,
        parts.packed_weight_bytes * parts.model.expert_layers * macros.expert_params(parts.model)
        / parts.expert_pieces as expert_bytes,
        case when parts.model.is_tied then 0 else 2 * macros.head_params(parts.model) end
        / parts.tp as embedding_bytes,

        -- Of one token in one layer. KV heads are repeated once there are more GPUs than heads; a latent cache is whole on each.
        macros.kv_layer_token_elements(parts.model) * parts.kv.kv_bytes
        / case when parts.model.is_mla then 1 else least(parts.tp, parts.model.kv_heads) end as kv_layer_token_bytes,
        -- In FP8 with a scale of 4 bytes for every 128 numbers, whatever the format of the KV cache; whole on each GPU.
        parts.model.index_dim * (1 + 4 / 128e0) as index_token_bytes,
        parts.model.linear_state_bytes / parts.tp as state_bytes,

        -- Parameters that multiply one token, by what multiplies them.
        macros.head_params(parts.model) / parts.tp as head_params,
        (
            macros.router_params(parts.model)
            + case when parts.is_attention_plain then parts.attention else 0 end
            + case when parts.is_mlp_plain then parts.mlp else 0 end
        ) / parts.tp as plain_params,
        (
            case when parts.is_attention_plain then 0 else parts.attention end
            + case when parts.is_mlp_plain then 0 else parts.mlp end
        ) / parts.tp as packed_params,
        parts.model.experts_per_token * parts.model.expert_layers * macros.expert_params(parts.model)
        * parts.expert_tokens_ratio / (parts.expert_pieces * parts.ep) as expert_params,
        macros.pair_flop(parts.model) / parts.tp as pair_flop,
        2e0 * parts.model.index_heads * parts.model.index_dim as index_pair_flop,

        parts.gpu.memory_bytes,
        parts.gpu.hbm_bytes_per_s,
        parts.gpu.hbm_bytes_per_s * constant.value_of['weight_bandwidth_ratio bf16'] as plain_bytes_per_s,
        parts.gpu.hbm_bytes_per_s * constant.value_of['weight_bandwidth_ratio ' || parts.weight.format]
            as packed_bytes_per_s,
        parts.gpu.hbm_bytes_per_s * constant.value_of['expert_bandwidth_ratio ' || parts.weight.format]
            / constant.expert_time_ratio as expert_bytes_per_s,
        -- A latent cache is multiplied by every head: many heads on one GPU are bound by arithmetic.
        least(
            parts.gpu.hbm_bytes_per_s * constant.value_of['kv_bandwidth_ratio ' || parts.kv.format],
            macros.kv_layer_token_elements(parts.model) * parts.kv.kv_bytes
            / (macros.decode_pair_flop(parts.model) / parts.tp / (parts.gpu.bf16_flop_per_s * constant.value_of['compute_ratio bf16']))
        ) as kv_bytes_per_s,
        coalesce(
            parts.gpu.fp8_flop_per_s * constant.value_of['compute_ratio fp8'],
            parts.gpu.bf16_flop_per_s * constant.value_of['compute_ratio bf16']
        ) as index_flop_per_s,
        least(
            parts.gpu.hbm_bytes_per_s * constant.value_of['kv_bandwidth_ratio bf16'], -- no format of the KV cache is theirs
            index_token_bytes / nullif(index_pair_flop / index_flop_per_s, 0)
        ) as index_bytes_per_s,
        parts.gpu.bf16_flop_per_s as peak_bf16_flop_per_s,
        case parts.compute
            when 'fp4' then parts.gpu.fp4_flop_per_s
            when 'fp8' then parts.gpu.fp8_flop_per_s
            else parts.gpu.bf16_flop_per_s
        end as peak_flop_per_s,
        parts.gpu.bf16_flop_per_s * constant.value_of['compute_ratio bf16'] as plain_flop_per_s,
        peak_flop_per_s * constant.value_of['compute_ratio ' || parts.compute] as packed_flop_per_s,
        peak_flop_per_s
            * coalesce(constant.value_of['expert_compute_ratio ' || parts.weight.format], constant.value_of['compute_ratio ' || parts.compute])
            / constant.expert_time_ratio as expert_flop_per_s,
        parts.gpu.bf16_flop_per_s * constant.value_of['attention_compute_ratio bf16'] as attention_flop_per_s,
        constant.value_of['roof_hardness bf16'] as roof_hardness,
        constant.value_of['layer_s bf16']
        + case when parts.model.is_mla then constant.value_of['mla_layer_s bf16'] else 0 end
        + constant.value_of['gemm_overhead_s ' || parts.weight.format]
        * (
            case when parts.is_attention_plain then 0 else 2 end
            + case when parts.is_mlp_plain then 0 else 2e0 * parts.model.dense_layers / parts.model.layers end
        ) as layer_s,
        constant.value_of['expert_layer_s bf16'] * constant.expert_time_ratio as expert_layer_s,
        experts.first_s * constant.expert_time_ratio as expert_first_s,
        experts.line as expert_line,
        constant.value_of['expert_overlap_s bf16'] * constant.expert_time_ratio as expert_overlap_s,
        case
            when parts.model.experts = 0 or experts.first_s is null then 0
            else constant.value_of['expert_table_ratio bf16']
        end as expert_table_ratio,
        case
            when parts.model.experts = 0 then null
            when experts.first_s is null then 'law'
            else experts.origin
        end as experts_from,
        constant.plain_from,
        constant.packed_from,
        constant.kv_from,
        constant.value_of['step_s bf16'] as step_s,
        constant.value_of['sequence_s bf16']
        * case when parts.tp > 1 then coalesce(constant.value_of['workers_sequence_ratio bf16'], 1) else 1 end as sequence_s,
        constant.value_of['prefill_share bf16'] as prefill_share,
        constant.value_of['request_s bf16'] as request_s,
        constant.value_of['request_token_s bf16'] as request_token_s,
        constant.value_of['prompt_ratio bf16'] as prompt_ratio,
        constant.value_of['bunch_ratio bf16'] as bunch_ratio,
        greatest(parts.tp, parts.ep)::bigint as all_reduce_gpus,
        case when coalesce(all_reduce.operation, 'all_reduce') = 'all_reduce' then parts.model.layers else parts.model.expert_layers end::bigint
            as all_reduce_layers,
        -- A gather brings the tokens of all replicas to each GPU; an all-to-all sends each token to the GPUs of its experts.
        2e0 * parts.model.hidden
        * case all_reduce.operation
            when 'gather_scatter' then parts.dp
            when 'all_to_all' then least(parts.model.experts_per_token, parts.ep)
            else 1
        end as all_reduce_token_bytes,
        all_reduce.first_s * case when all_reduce.is_slower then constant.value_of['pcie_all_reduce_ratio bf16'] else 1 end
            as all_reduce_first_s,
        case when parts.tp = 1 or not coalesce(parts.model.is_qk_norm_shared, false) then 0
            else all_reduce_first_s + coalesce(constant.value_of['norm_reduce_kernels_s bf16'], 0)
        end as norm_reduce_s,
        all_reduce.line as all_reduce_line,
        case when all_reduce_gpus > 1 then all_reduce.origin end as all_reduce_from,
        case when all_reduce_gpus > 1 then macros.collective_text(all_reduce.operation) end as all_reduce_kind,
        coalesce(nullif(parts.fields.gpu_memory_utilization, 0), constant.value_of['memory_utilization bf16']) as memory_utilization,
        constant.value_of['other_memory_bytes bf16'] as other_memory_bytes,
        -- A constant of that name is a band for all loads; a calibration has one.
        case
            when constant.calibrated > 0 then constant.value_of['calibrated_band_ratio bf16']
            else constant.value_of['band_ratio bf16']
        end as fixed_band_ratio,
        macros.term_spreads(
            spreads.of_terms,
            case constant.value_of['gpu_distance bf16'] when 0 then 'measured' when 1 then 'related' else 'not measured' end,
            constant.far,
            case
                when parts.model.experts = 0 then null
                when expert_table_ratio = 0 then 'law'
                when experts.gpu = parts.gpu.gpu then 'table'
                else 'carried'
            end,
            parts.engine = 'vllm',
            constant.is_fitted,
            has_kin := parts.gpu.kinship in ('measured', 'same_family'),
            has_replicas_sharing := parts.dp > 1 and parts.ep > 1,
            has_indexers := parts.model.index_layers > 0
        ) as spread,
        constant.calibration
    from parts
    cross join defaults
    cross join constant
    cross join all_reduce
    cross join experts
    cross join (select macros.spreads() as of_terms) as spreads
)

-- The whole row as one value too: a macro that is given a table's alias takes it apart and puts it together for each field
-- that it reads, ten times slower than with a column of that name.
select
    made.*,
    macros.line_bends(made.expert_line) as expert_bends,
    macros.line_bends(made.all_reduce_line) as all_reduce_bends,
    made as d
from made;

-- Which table a time is from, in words.
--   select macros.curve_origin('vllm', '0.24.0', 'H100', false)
create macro macros.curve_origin(engine, engine_version, gpu, is_carried) as
    'table of ' || engine || ' ' || engine_version || ' on ' || gpu || case when is_carried then ', carried' else '' end;

-- A collective in words.
--   select macros.collective_text('all_to_all')
create macro macros.collective_text(operation) as
    case operation when 'gather_scatter' then 'all-gather and reduce-scatter' when 'all_to_all' then 'all-to-all' else 'all-reduce' end;

-- What the terms of a deployment's step rest on, in words: the law with the built-in rates, or which table of kernel times. Experts with a
-- table are the mean of law and table.
--   select macros.terms_from(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-70b', 'tensor_parallel_size': 4})
create macro macros.terms_from(d) as
    concat_ws(
        '; ',
        'weights ' || d.packed_from,
        case when d.plain_from <> d.packed_from then 'weights in 16 bits ' || d.plain_from end,
        'KV cache ' || d.kv_from,
        case when d.index_layers > 0 then 'indexers law' end,
        d.all_reduce_kind || ' ' || d.all_reduce_from,
        'experts ' || case when d.experts_from = 'law' then 'law' else 'law and ' || d.experts_from end
    );

-- Why GPUs cannot share the model as asked; null: they can.
--   select macros.sharing_problem(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'tensor_parallel_size': 3})
create macro macros.sharing_problem(d) as
    case
        when d.query_heads % d.tensor_parallel_size <> 0
            then format('{} attention heads of {} cannot be shared by {} GPUs', d.query_heads, d.model, d.tensor_parallel_size)
        when d.expert_parallel_size > 1 and d.experts = 0
            then format('{} has no experts to share out to {} GPUs', d.model, d.expert_parallel_size)
        when d.tensor_parallel_size * d.data_parallel_size % d.expert_parallel_size <> 0
            then format(
                'experts cannot be spread over {} GPUs: tensor times data parallel size is {}, which is no multiple of it',
                d.expert_parallel_size, d.tensor_parallel_size * d.data_parallel_size
            )
        when d.experts > 0 and d.experts % d.expert_parallel_size <> 0
            then format('{} experts cannot be shared out to {} GPUs', d.experts, d.expert_parallel_size)
    end;

-- The weight format that is meant by `asked`: who says FP8 of a model that is published in blocks of FP8 means that checkpoint, unless the
-- model's name says otherwise. vLLM, too, calls both "fp8".
--   select macros.meant_format('fp8', null, 'fp8_block')
create macro macros.meant_format(asked, named_format, native_format) as
    case when lower(asked) = 'fp8' and named_format is null and native_format = 'fp8_block' then 'fp8_block' else asked end;

-- Whether a part of a model stays in 16 bits: as its checkpoint says where the format is its own.
--   select macros.is_plain(m, f, false, 'attention') from seeds.models as m, seeds.formats as f
--   where m.model = 'gpt-oss-120b' and f.format = 'mxfp4'
create macro macros.is_plain(model, weight, is_native, part) as
    case
        when is_native and model.plain_parts is not null then list_contains(model.plain_parts, part)
        else weight.covers = 'experts'
    end;

-- FLOP of one query-key pair in one layer, all heads: prefill multiplies whole heads, decoding through a latent cache multiplies the
-- latent one, and so does sparse attention, which gathers its tokens from the cache.
--   select macros.pair_flop(m) from seeds.models as m where m.model = 'llama-3.1-8b'
create macro macros.pair_flop(model) as
    case
        when model.index_layers > 0 then macros.decode_pair_flop(model)
        when model.is_mla then 2e0 * model.query_heads * (model.nope_dim + model.rope_dim + model.value_dim)
        else 4e0 * model.query_heads * model.head_dim
    end;

-- FLOP of one query-key pair in one layer, all heads, when decoding: through a latent cache (MLA) the latent one is multiplied.
--   select macros.decode_pair_flop(m) from seeds.models as m where m.model = 'deepseek-v3'
create macro macros.decode_pair_flop(model) as
    case when model.is_mla
        then 2e0 * model.query_heads * (2 * model.kv_lora + model.rope_dim)
        else 4e0 * model.query_heads * model.head_dim
    end;

-- What a calibration belongs to: GPU, model, degrees, formats and engine in one text.
--   select macros.deployment_key('H100', 'llama-3.1-8b', 1, 1, 1, 'bf16', 'bf16', 'vllm')
create macro macros.deployment_key(
    gpu, model, tensor_parallel_size, expert_parallel_size, data_parallel_size, weight_format, kv_format, engine
) as
    concat_ws(' ', gpu, model, tensor_parallel_size, expert_parallel_size, data_parallel_size, weight_format, kv_format, engine);
