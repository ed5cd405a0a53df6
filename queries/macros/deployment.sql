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
--   engine, engine_version   for the constants; one that is not said is that of this deployment's last
--                            calibration; else vLLM is of the newest that constants were fitted to
--   max_num_seqs             sequences that one replica runs at once
--   max_num_batched_tokens   tokens of one engine step
--   max_model_len            longest request, tokens
--   gpu_memory_utilization   share of a GPU's memory that the engine takes
--   api_server_count         API servers that share the requests of one address
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
        "api_server_count": "BIGINT",
        "hbm_bytes_per_s": "DOUBLE"
    }');

-- GPUs behind one address, of JSON with the fields of macros.deployment_fields; null where it is null.
--   select macros.gpus_of_address('{"gpu": "H100", "tensor_parallel_size": 2}'::json)
create macro macros.gpus_of_address(environment) as
    case
        when environment is not null
            then greatest(1, coalesce((environment ->> '$.tensor_parallel_size')::bigint, 1)) * greatest(1, coalesce((environment ->> '$.data_parallel_size')::bigint, 1))
    end;

-- What a row of staging.points was measured on, as macros.deployment_fields: what its file says, and over it what "ingest --environment" said.
--   select macros.measured_on({'hardware': 'H100', 'model': 'llama-3.1-8b', 'tensor_parallel_size': 1, 'engine': 'vllm', 'engine_version': null, 'settings': null})
create macro macros.measured_on(point) as
    macros.deployment_fields(json_merge_patch(
        json_object(
            'gpu', point.hardware, 'catalog_model', point.model, 'tensor_parallel_size', point.tensor_parallel_size,
            'engine', point.engine, 'engine_version', point.engine_version
        ),
        coalesce(point.settings -> '$.environment', '{}'::json)
    ));

-- What macros.constants_for answers to many questions, structs of gpu, engine, version, format, deployment and architecture.
--   select question.format, name, "constant".value from macros.nearest_constants([{'gpu': 'H100', 'engine': 'vllm', 'version': '0.24.0',
--       'format': 'bf16', 'deployment': null::varchar, 'architecture': 'llama'}]) limit 3
create macro macros.nearest_constants(questions) as table
select
    asked.question,
    constants.name,
    arg_min(
        constants,
        case
            when constants.deployment is not null then -1e9 + case when constants.engine_version = '*' then 1e0 else 0e0 end
            when constants.measured_with is not null
                then macros.table_distance(constants.measured_with, constants.engine_version, asked.question.engine, asked.question.version)
                    + case when constants.architecture = '*' then 0.125e0 else 0e0 end
            else macros.constant_distance(
                constants.engine, constants.engine_version, constants.gpu, constants.format, asked.question.version
            ) + case when constants.architecture = '*' then 0.125e0 else 0e0 end
        end
    ) as constant
from (select distinct unnest(questions) as question) as asked
inner join macros.constants() as constants
    on constants.engine in ('*', asked.question.engine)
    and constants.gpu in ('*', asked.question.gpu)
    and constants.format in ('*', asked.question.format)
    and constants.architecture in ('*', asked.question.architecture)
    and (
        constants.deployment is null
        or (
            constants.deployment = asked.question.deployment
            and coalesce(floor(macros.version_number(constants.engine_version)) = floor(macros.version_number(asked.question.version)), true)
        )
    )
group by
    asked.question,
    constants.name;

-- The nearest value of each constant, by name and format; a calibration of this very deployment before all, then a table of kernel times
-- of this GPU that was taken in. What was fitted to one family of models holds for no other.
--   select name, format, "constant".value from macros.constants_for('H100', 'vllm', '0.24.0', ['bf16'], null) limit 3
create macro macros.constants_for(of_gpu, of_engine, of_version, of_formats, of_deployment, of_architecture := null) as table
select
    name,
    question.format as format,
    constant
from macros.nearest_constants(list_transform(of_formats, lambda format: {
    'gpu': of_gpu, 'engine': of_engine, 'version': of_version::varchar, 'format': format,
    'deployment': of_deployment::varchar, 'architecture': of_architecture::varchar
}));

-- Many deployments at once: a row for each that is known, as macros.deployment has it, behind its place. `asked` is a list of structs:
--   place       any value by which the row is found again
--   asked       JSON with the fields of macros.deployment_fields; others are skipped
--   constants   a map of constants' names to values that come before all others, or null
-- Nothing here is lateral: a thousand deployments are planned once, and what several have in common (a GPU, a model, an engine with its
-- constants, a curve) is looked up once.
--   select place, gpu, model from macros.deployments([
--       {'place': 1, 'asked': '{"gpu": "H100", "catalog_model": "llama-3.1-8b"}'::json, 'constants': null::map(varchar, double)},
--       {'place': 2, 'asked': '{"gpu": "H200", "catalog_model": "qwen3-8b"}'::json, 'constants': null::map(varchar, double)}])
create macro macros.deployments(asked) as table
with said as (
    select
        id,
        one.place,
        macros.deployment_fields(one.asked) as fields,
        one.constants
    from (select unnest(asked) as one, unnest(range(len(asked))) as id) as list
),

gpus as (
    select * from macros.gpus_found((select list(distinct fields.gpu) from said))
),

models as (
    select * exclude (spellings) from macros.models_found((select list(distinct fields.catalog_model) from said))
),

-- What each means by its GPU, its model and its formats.
meant as (
    select
        said.id,
        said.place,
        said.fields,
        said.constants,
        gpus.gpu,
        coalesce(nullif(said.fields.hbm_bytes_per_s, 0), gpus.gpu.hbm_bytes_per_s) as hbm_bytes_per_s,
        models as model,
        macros.meant_format(nullif(nullif(said.fields.quantization, ''), 'auto'), models.named_format, models.native_format) as weight_format,
        coalesce(nullif(nullif(said.fields.kv_cache_dtype, ''), 'auto'), models.native_kv_format, 'bf16') as kv_format,
        coalesce(nullif(said.fields.tensor_parallel_size, 0), 1)::double as tp,
        coalesce(nullif(said.fields.data_parallel_size, 0), 1)::double as dp,
        coalesce(nullif(said.fields.expert_parallel_size, 0), 1)::double as ep,
        coalesce(nullif(lower(said.fields.engine), ''), 'vllm') as engine,
        coalesce(nullif(said.fields.engine_version, ''), newest.engine_version) as engine_version,
        nullif(said.fields.compute_dtype, '') as compute_dtype
    from said
    inner join gpus on gpus.asked_gpu = said.fields.gpu
    inner join models on models.asked_model = said.fields.catalog_model
    left join warehouse.newest_fitted as newest on newest.engine = coalesce(nullif(lower(said.fields.engine), ''), 'vllm')
),

named as (
    select
        meant.* exclude (weight_format, kv_format, compute_dtype),
        weight_formats as weight,
        kv_formats as kv,
        weight_formats.format = meant.model.native_format as is_native,
        -- What multiplies the weights: a GPU without FP8 or FP4 unpacks to BF16.
        case
            when coalesce(meant.compute_dtype, weight_formats.compute) = 'fp4' and meant.gpu.fp4_flop_per_s is not null then 'fp4'
            when coalesce(meant.compute_dtype, weight_formats.compute) = 'fp8' and meant.gpu.fp8_flop_per_s is not null then 'fp8'
            else 'bf16'
        end as compute
    from meant
    inner join seeds.formats as weight_formats
        on macros.is_weight_format(
            weight_formats.format, weight_formats.aliases, meant.weight_format, meant.model.named_format, meant.model.native_format
        )
        and (weight_formats.covers = 'all' or meant.model.experts > 0)
    inner join seeds.formats as kv_formats
        on macros.is_named(kv_formats.format, kv_formats.aliases, meant.kv_format)
        and kv_formats.kv_bytes is not null
),

-- Parameters by what they are, and whether they stay in 16 bits. From here on a row has nothing that no column below reads: DuckDB makes room
-- for 2048 values of each of its fields in each step, which takes longer than all that is computed.
parameters as (
    select
        id,
        place,
        {
            'engine_version': nullif(fields.engine_version, ''),
            'max_num_seqs': nullif(fields.max_num_seqs, 0),
            'max_num_batched_tokens': nullif(fields.max_num_batched_tokens, 0),
            'api_server_count': nullif(fields.api_server_count, 0),
            'gpu_memory_utilization': nullif(fields.gpu_memory_utilization, 0)
        } as fields,
        constants,
        {
            'gpu': gpu.gpu, 'kinship': gpu.kinship, 'memory_bytes': gpu.memory_bytes, 'link': gpu.link,
            'bf16_flop_per_s': gpu.bf16_flop_per_s, 'fp8_flop_per_s': gpu.fp8_flop_per_s, 'fp4_flop_per_s': gpu.fp4_flop_per_s
        } as gpu,
        hbm_bytes_per_s,
        {
            'model': model.model, 'architecture': model.architecture, 'layers': model.layers, 'attention_layers': model.attention_layers,
            'expert_layers': model.expert_layers, 'dense_layers': model.dense_layers, 'hidden': model.hidden, 'query_heads': model.query_heads,
            'kv_heads': model.kv_heads, 'head_dim': model.head_dim, 'experts': model.experts, 'experts_per_token': model.experts_per_token,
            'expert_intermediate': model.expert_intermediate, 'window_tokens': model.window_tokens, 'windowed_layers': model.windowed_layers,
            'is_tied': model.is_tied, 'is_mla': model.is_mla, 'index_layers': model.index_layers, 'index_heads': model.index_heads,
            'index_dim': model.index_dim, 'is_qk_norm_shared': model.is_qk_norm_shared, 'linear_state_bytes': model.linear_state_bytes
        } as model,
        tp,
        dp,
        ep,
        engine,
        coalesce(nullif(fields.engine_version, ''), calibrated.engine_version, named.engine_version) as engine_version,
        {'format': weight.format} as weight,
        {'format': kv.format, 'kv_bytes': kv.kv_bytes} as kv,
        compute,
        coalesce(case when is_native then model.native_bytes_per_weight end, weight.bytes_per_weight) as packed_weight_bytes,
        -- Indexers are whole on each GPU; what the GPUs share is divided by their number below.
        macros.attention_params(model) + (tp - 1) * model.index_layers * macros.indexer_params(model) as attention,
        macros.mlp_params(model) as mlp,
        macros.router_params(model) as router,
        macros.head_params(model) as head,
        macros.expert_params(model) as expert,
        macros.kv_layer_token_elements(model) as kv_elements,
        macros.pair_flop(model) as pair_flop,
        macros.decode_pair_flop(model) as decode_pair_flop,
        macros.is_plain(model, weight, is_native, 'attention') as is_attention_plain,
        macros.is_plain(model, weight, is_native, 'mlp') as is_mlp_plain,
        -- Experts are whole on their GPU, or cut in as many pieces.
        tp * case when ep > 1 then dp else 1 end / ep as expert_pieces,
        case when ep > 1 then dp else 1 end as expert_tokens_ratio,
        calibrated.deployment as calibrated_deployment,
        least(nullif(fields.max_model_len, 0), model.max_context_tokens) as context_tokens
    from named
    left join macros.calibrated() as calibrated
        on calibrated.deployment = macros.deployment_key(
            gpu.gpu, model.model, tp::bigint, ep::bigint, dp::bigint, weight.format, kv.format, engine
        )
),

-- What is looked up for each, as questions that many may share.
parts as (
    select
        * exclude (calibrated_deployment, attention, mlp),
        case when is_attention_plain then attention else 0 end as plain_attention,
        case when is_attention_plain then 0 else attention end as packed_attention,
        case when is_mlp_plain then mlp else 0 end as plain_mlp,
        case when is_mlp_plain then 0 else mlp end as packed_mlp,
        {'engine': engine, 'version': engine_version, 'gpu': gpu.gpu, 'memory_bytes': gpu.memory_bytes, 'context_tokens': context_tokens} as defaults_question,
        {
            'gpu': gpu.gpu, 'engine': engine, 'version': engine_version,
            'deployment': calibrated_deployment,
            'architecture': model.architecture, 'weight': weight.format, 'kv': kv.format, 'compute': compute,
            'is_version_said': fields.engine_version is not null
        } as constants_question,
        -- Replicas that share out their experts exchange tokens instead of partial sums: before the experts and behind them. Attention that
        -- is cut as well (tensor parallel) is left with all-reduces for both.
        {
            'gpu': gpu.gpu, 'engine': engine, 'version': engine_version, 'gpus': greatest(tp, ep), 'is_graph': true,
            'operation': case
                when tp > 1 or dp = 1 or ep = 1 then 'all_reduce'
                when engine = 'vllm' then 'gather_scatter'
                else 'all_to_all'
            end
        } as collective_question,
        {
            'gpu': gpu.gpu, 'engine': engine, 'version': engine_version, 'format': weight.format,
            'hidden': model.hidden, 'intermediate': model.expert_intermediate, 'experts': model.experts, 'experts_per_token': model.experts_per_token,
            'tensor_parallel_size': expert_pieces, 'expert_parallel_size': ep, 'router': 'power_law_1.01'
        } as experts_question
    from parameters
),

questions as (
    select
        id,
        model.experts > 0 as has_experts,
        constants,
        defaults_question,
        constants_question,
        collective_question,
        experts_question
    from parts
),

-- What the engine takes by itself in this version and on this GPU.
defaults as (
    select * from macros.engine_defaults_of((select list(distinct defaults_question) from questions))
),

constants_asked as (
    select
        question,
        {
            'gpu': question.gpu, 'engine': question.engine, 'version': question.version, 'format': format,
            'deployment': question.deployment, 'architecture': question.architecture
        } as wanted
    from (
        select
            constants_question as question,
            unnest(list_distinct(['bf16', constants_question.weight, constants_question.kv, constants_question.compute])) as format
        from (select distinct constants_question from questions) as distinct_questions
    ) as with_formats
),

nearest as (
    select * from macros.nearest_constants((select list(distinct wanted) from constants_asked))
),

constant as (
    select
        constants_asked.question,
        map_from_entries(list((nearest.name || ' ' || constants_asked.wanted.format, nearest.constant.value))) as value_of,
        count(distinct nearest.name) filter (where nearest.constant.deployment is not null) as calibrated,
        max(nearest.constant.source) filter (where nearest.constant.deployment is not null) as calibration,
        count(*) filter (where nearest.constant.architecture <> '*' and nearest.constant.measured_with is null) > 0 as is_fitted,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name = 'weight_bandwidth_ratio'
                and constants_asked.wanted.format = 'bf16'
        ), 'law') as plain_from,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name = 'weight_bandwidth_ratio'
                and constants_asked.wanted.format = constants_asked.question.weight
        ), 'law') as packed_from,
        coalesce(any_value(nearest.constant.source) filter (
            where nearest.constant.measured_with is not null
                and nearest.name = 'kv_bandwidth_ratio'
                and constants_asked.wanted.format = constants_asked.question.kv
        ), 'law') as kv_from,
        -- Minor versions to the nearest one that constants were fitted to; three are far, and so is a version that nobody named.
        coalesce(least(1e0, case when constants_asked.question.is_version_said then abs(
            floor(macros.version_number(constants_asked.question.version))
            - floor(macros.version_number(any_value(nearest.constant.engine_version) filter (where nearest.name = 'fitted_engine')))
        ) / 3e0 end), 1e0) as far
    from constants_asked
    inner join nearest on nearest.question is not distinct from constants_asked.wanted
    group by constants_asked.question
),

collectives as (
    select
        points.question,
        any_value(points.operation) as operation,
        arg_min(points.seconds, points.message_bytes) as first_s,
        macros.curve_line(
            list(points.message_bytes::double order by points.message_bytes), list(points.seconds order by points.message_bytes)
        ) as line,
        any_value(macros.curve_origin(points.from_engine, points.from_version, points.from_gpu, points.is_carried)) as origin,
        any_value(points.is_other_link) as is_other_link
    from macros.all_reduce_curves_of((select list(distinct collective_question) from questions)) as points
    group by points.question
),

-- Every power of two of tokens: between two of four times the tokens, a line is 11 % too high at 32 sequences.
expert_points as (
    select points.*
    from macros.expert_curves_of((select list(distinct experts_question) from questions where has_experts)) as points
    qualify row_number() over (partition by points.question, floor(log2(points.tokens)) order by points.tokens) = 1
        or row_number() over (partition by points.question order by points.tokens desc) = 1
),

experts as (
    select
        question,
        arg_min(seconds, tokens) as first_s,
        macros.curve_line(list(tokens::double order by tokens), list(seconds order by tokens)) as line,
        macros.curve_origin(
            any_value(from_engine), any_value(from_version),
            any_value(from_gpu) || case when any_value(from_format) <> question.format then ' in ' || any_value(from_format) else '' end,
            bool_or(is_carried)
        ) as origin,
        any_value(from_gpu) as gpu
    from expert_points
    group by question
),

answers as (
    select
        questions.id,
        defaults.engine_version as defaults_from,
        defaults.max_num_seqs as default_seqs,
        defaults.max_num_batched_tokens as default_batched_tokens,
        defaults.has_whole_prompts,
        defaults.is_async,
        defaults.cuda_graphs,
        constant.* exclude (question, value_of),
        macros.with_constants(constant.value_of, questions.constants) as value_of,
        collectives.operation as collective,
        collectives.first_s as collective_first_s,
        collectives.line as collective_line,
        collectives.origin as collective_from,
        collectives.is_other_link,
        experts.first_s as expert_curve_first_s,
        coalesce(experts.line, {'first': null::double, 'logs': null::double[]}) as expert_curve_line,
        experts.origin as expert_curve_from,
        experts.gpu as expert_curve_gpu
    from questions
    left join defaults on defaults.question is not distinct from questions.defaults_question
    left join constant on constant.question is not distinct from questions.constants_question
    left join collectives on collectives.question is not distinct from questions.collective_question
    left join experts on experts.question is not distinct from questions.experts_question
),

put_together as (
    select
        parts.* exclude (id, constants, defaults_question, constants_question, collective_question, experts_question),
        answers.* exclude (id, is_other_link),
        answers.is_other_link and parts.gpu.link = 'pcie' as is_collective_slower
    from parts
    inner join answers on answers.id = parts.id
),

-- What several of the columns below need.
rated as (
    select
        *,
        -- How much longer all that experts do takes than law and table have it: a calibration finds it.
        coalesce(value_of['expert_time_ratio bf16'], 1) as expert_time_ratio,
        model.index_dim * (1 + 4 / 128e0) as index_token_bytes,
        2e0 * model.index_heads * model.index_dim as index_pair_flop,
        coalesce(
            gpu.fp8_flop_per_s * value_of['compute_ratio fp8'],
            gpu.bf16_flop_per_s * value_of['compute_ratio bf16']
        ) as index_flop_per_s,
        case compute
            when 'fp4' then gpu.fp4_flop_per_s
            when 'fp8' then gpu.fp8_flop_per_s
            else gpu.bf16_flop_per_s
        end as peak_flop_per_s,
        case
            when model.experts = 0 or expert_curve_first_s is null then 0
            else value_of['expert_table_ratio bf16']
        end as expert_table_ratio,
        greatest(tp, ep)::bigint as all_reduce_gpus,
        collective_first_s * case when is_collective_slower then value_of['pcie_all_reduce_ratio bf16'] else 1 end as all_reduce_first_s,
        macros.term_spreads(
            spreads.of_terms,
            case value_of['gpu_distance bf16'] when 0 then 'measured' when 1 then 'related' else 'not measured' end,
            far,
            case
                when model.experts = 0 then null
                when expert_table_ratio = 0 then 'law'
                when expert_curve_gpu = gpu.gpu then 'table'
                else 'carried'
            end,
            engine = 'vllm',
            is_fitted,
            has_kin := gpu.kinship in ('measured', 'same_family'),
            has_replicas_sharing := dp > 1 and ep > 1,
            has_indexers := model.index_layers > 0
        ) as spread
    from put_together
    cross join warehouse.spreads
),

-- The whole row as one value: a macro that is given a table's alias takes it apart and puts it together for each field
-- that it reads, ten times slower than with a column of that name.
made as (
    select
        place,
        {
            'gpu': gpu.gpu,
            'gpu_kinship': gpu.kinship,
            'model': model.model,
            'architecture': model.architecture,
            'tensor_parallel_size': tp::bigint,
            'expert_parallel_size': ep::bigint,
            'data_parallel_size': dp::bigint,
            'weight_format': weight.format,
            'compute_format': compute,
            'kv_format': kv.format,
            'engine': engine,
            'engine_version': fields.engine_version,
            'constants_version': engine_version, -- whose constants are asked for
            'max_num_seqs': coalesce(fields.max_num_seqs, default_seqs, value_of['max_num_seqs bf16'])::bigint,
            'max_num_batched_tokens': coalesce(
                fields.max_num_batched_tokens, default_batched_tokens,
                value_of['max_num_batched_tokens bf16']
            )::bigint,
            'max_context_tokens': context_tokens,
            'defaults_from': defaults_from,
            'has_whole_prompts': has_whole_prompts,
            'is_async': is_async,
            'cuda_graphs': cuda_graphs,

            'layers': model.layers,
            'attention_layers': model.attention_layers,
            'expert_layers': model.expert_layers,
            'hidden': model.hidden,
            'query_heads': model.query_heads,
            'kv_heads': model.kv_heads,
            'head_dim': model.head_dim,
            'experts': model.experts,
            'experts_per_token': model.experts_per_token,
            'expert_tokens_ratio': expert_tokens_ratio,
            'window_tokens': model.window_tokens,
            'windowed_layers': model.windowed_layers,
            'is_mla': model.is_mla,
            'index_layers': model.index_layers,

            -- Bytes that each step streams: everything but the embedding table. The head and the router are 16-bit.
            'plain_bytes': 2 * (
                router + head
                + plain_attention
                + plain_mlp
            ) / tp,
            'packed_bytes': packed_weight_bytes * (
                packed_attention
                + packed_mlp
            ) / tp,
            'expert_bytes': packed_weight_bytes * model.expert_layers * expert
            / expert_pieces,
            'embedding_bytes': case when model.is_tied then 0 else 2 * head end
            / tp,

            -- Of one token in one layer. KV heads are repeated once there are more GPUs than heads; a latent cache is whole on each.
            'kv_layer_token_bytes': kv_elements * kv.kv_bytes
            / case when model.is_mla then 1 else least(tp, model.kv_heads) end,
            'index_token_bytes': index_token_bytes,
            'state_bytes': model.linear_state_bytes / tp,

            -- Parameters that multiply one token, by what multiplies them.
            'head_params': head / tp,
            'plain_params': (
                router
                + plain_attention
                + plain_mlp
            ) / tp,
            'packed_params': (
                packed_attention
                + packed_mlp
            ) / tp,
            'expert_params': model.experts_per_token * model.expert_layers * expert
            * expert_tokens_ratio / (expert_pieces * ep),
            'pair_flop': pair_flop / tp,
            'index_pair_flop': index_pair_flop,

            'memory_bytes': gpu.memory_bytes,
            'hbm_bytes_per_s': hbm_bytes_per_s,
            'plain_bytes_per_s': hbm_bytes_per_s * value_of['weight_bandwidth_ratio bf16'],
            'packed_bytes_per_s': hbm_bytes_per_s * value_of['weight_bandwidth_ratio ' || weight.format],
            'expert_bytes_per_s': hbm_bytes_per_s * value_of['expert_bandwidth_ratio ' || weight.format]
                / expert_time_ratio,
            -- A latent cache is multiplied by every head: many heads on one GPU are bound by arithmetic.
            'kv_bytes_per_s': least(
                hbm_bytes_per_s * value_of['kv_bandwidth_ratio ' || kv.format],
                kv_elements * kv.kv_bytes
                / (decode_pair_flop / tp / (gpu.bf16_flop_per_s * value_of['compute_ratio bf16']))
            ),
            'index_flop_per_s': index_flop_per_s,
            'index_bytes_per_s': least(
                hbm_bytes_per_s * value_of['kv_bandwidth_ratio bf16'], -- no format of the KV cache is theirs
                index_token_bytes / nullif(index_pair_flop / index_flop_per_s, 0)
            ),
            'peak_bf16_flop_per_s': gpu.bf16_flop_per_s,
            'peak_flop_per_s': peak_flop_per_s,
            'plain_flop_per_s': gpu.bf16_flop_per_s * value_of['compute_ratio bf16'],
            'packed_flop_per_s': peak_flop_per_s * value_of['compute_ratio ' || compute],
            'expert_flop_per_s': peak_flop_per_s
                * coalesce(value_of['expert_compute_ratio ' || weight.format], value_of['compute_ratio ' || compute])
                / expert_time_ratio,
            'attention_flop_per_s': gpu.bf16_flop_per_s * value_of['attention_compute_ratio bf16'],
            'roof_hardness': value_of['roof_hardness bf16'],
            'layer_s': value_of['layer_s bf16']
            + case when model.is_mla then value_of['mla_layer_s bf16'] else 0 end
            + value_of['gemm_overhead_s ' || weight.format]
            * (
                case when is_attention_plain then 0 else 2 end
                + case when is_mlp_plain then 0 else 2e0 * model.dense_layers / model.layers end
            ),
            'expert_layer_s': value_of['expert_layer_s bf16'] * expert_time_ratio,
            'expert_first_s': expert_curve_first_s * expert_time_ratio,
            'expert_line': expert_curve_line,
            'expert_overlap_s': value_of['expert_overlap_s bf16'] * expert_time_ratio,
            'expert_table_ratio': expert_table_ratio,
            'experts_from': case
                when model.experts = 0 then null
                when expert_curve_first_s is null then 'law'
                else expert_curve_from
            end,
            'plain_from': plain_from,
            'packed_from': packed_from,
            'kv_from': kv_from,
            'step_s': value_of['step_s bf16'],
            'sequence_s': value_of['sequence_s bf16']
            * case when tp > 1 then coalesce(value_of['workers_sequence_ratio bf16'], 1) else 1 end,
            'prefill_share': value_of['prefill_share bf16'],
            -- Not known of an engine: no time, and no difference.
            'submit_s': coalesce(value_of['submit_s bf16'], 0),
            'launch_s': coalesce(value_of['launch_layer_s bf16'], 0) * model.layers + coalesce(value_of['launch_experts_s bf16'], 0) * model.expert_layers,
            'chunk_s': coalesce(value_of['chunk_s bf16'], 0),
            'mixed_prompt_ratio': coalesce(value_of['mixed_prompt_ratio bf16'], 1),
            'request_s': value_of['request_s bf16'],
            'request_token_s': value_of['request_token_s bf16'],
            'api_servers': coalesce(fields.api_server_count, dp) / dp,
            'admission_s': coalesce(value_of['admission_s bf16'], 0),
            'admission_token_s': coalesce(value_of['admission_token_s bf16'], 0),
            'send_s': coalesce(value_of['send_s bf16'], 0),
            'send_token_s': coalesce(value_of['send_token_s bf16'], 0),
            'send_crowd_s': coalesce(value_of['send_crowd_s bf16'], 0),
            'prompt_ratio': value_of['prompt_ratio bf16'],
            'bunch_ratio': value_of['bunch_ratio bf16'],
            'all_reduce_gpus': all_reduce_gpus,
            'all_reduce_layers': case when coalesce(collective, 'all_reduce') = 'all_reduce' then model.layers else model.expert_layers end::bigint,
            -- A gather brings the tokens of all replicas to each GPU; an all-to-all sends each token to the GPUs of its experts.
            'all_reduce_token_bytes': 2e0 * model.hidden
            * case collective
                when 'gather_scatter' then dp
                when 'all_to_all' then least(model.experts_per_token, ep)
                else 1
            end,
            'all_reduce_first_s': all_reduce_first_s,
            'norm_reduce_s': case when tp = 1 or not coalesce(model.is_qk_norm_shared, false) then 0
                else all_reduce_first_s + coalesce(value_of['norm_reduce_kernels_s bf16'], 0)
            end,
            'all_reduce_line': collective_line,
            'all_reduce_from': case when all_reduce_gpus > 1 then collective_from end,
            'all_reduce_kind': case when all_reduce_gpus > 1 then macros.collective_text(collective) end,
            'memory_utilization': coalesce(fields.gpu_memory_utilization, value_of['memory_utilization bf16']),
            'other_memory_bytes': value_of['other_memory_bytes bf16'],
            -- A constant of that name is a band for all loads; a calibration has one.
            'fixed_band_ratio': case
                when calibrated > 0 then value_of['calibrated_band_ratio bf16']
                else value_of['band_ratio bf16']
            end,
            'spread': spread,
            'calibration': calibration
        } as d
    from rated
)

select
    place,
    unnest(d),
    macros.line_bends(d.expert_line) as expert_bends,
    macros.line_bends(d.all_reduce_line) as all_reduce_bends,
    d
from made;

-- Constants by 'name format', with those that a caller gives by that or by the name alone in their places.
--   select macros.with_constants(map {'layer_s bf16': 1e-5}, map {'layer_s': 2e-5})
create macro macros.with_constants(value_of, constants) as
    case
        when constants is null then value_of
        else map_from_entries(list_transform(
            map_entries(value_of),
            lambda entry: (entry.key, coalesce(constants[entry.key], constants[split_part(entry.key, ' ', 1)], entry.value))
        ))
    end;

-- A model in a format on some GPUs under an engine, as one row with everything that the step macros need. `asked` is a struct, or JSON
-- such as the environment of a run, with the fields of macros.deployment_fields. There is no row if the GPU, the model or a format is
-- not in the catalogue. The column d is the whole row.
--   select gpu, model, weight_format, plain_bytes from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.deployment(asked, of_constants := null) as table
select * exclude (place)
from macros.deployments([{
    'place': 0,
    -- A misspelt field of a struct would silently be the default. JSON may be a run's of a later version: unknown fields are skipped.
    'asked': case
        when typeof(asked) = 'VARCHAR' then error('macros.deployment: a text; write a struct, or the text with ::json')
        when typeof(asked) = 'JSON'
            or list_has_all(json_keys(to_json(macros.deployment_fields(asked))), json_keys(to_json(asked)))
            then to_json(asked)
        else error('macros.deployment: an unknown field in ' || to_json(asked) || '; the fields are in macros.deployment_fields')
    end,
    'constants': of_constants::map(varchar, double)
}]);
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
