-- How near a measured deployment is to one that is predicted. `asked` and `measured` are structs of one and the same fields:
--   gpu, family, vendor         as in seeds.gpu_families
--   model, architecture         as in seeds.models
--   tensor_parallel_size        GPUs that share the model
--   weight_format               name in seeds.formats; null: not known
--   engine, engine_version
--   least_clients, most_clients clients of a closed loop; null: not known
-- group: model

-- What differs, in words, the heaviest first; empty where nothing does. Patches of a version are alike.
--   select macros.measured_differences({'gpu': 'H100', 'model': 'qwen3-32b', 'tensor_parallel_size': 2, 'weight_format': 'fp8', 'engine': 'vllm',
--       'engine_version': '0.12.0', 'architecture': 'qwen3', 'least_clients': 8, 'most_clients': 8},
--       {'gpu': 'H200', 'model': 'qwen3-32b', 'tensor_parallel_size': 2, 'weight_format': 'bf16', 'engine': 'vllm',
--       'engine_version': '0.12.1', 'architecture': 'qwen3', 'least_clients': 8, 'most_clients': 64}) as differs
create macro macros.measured_differences(asked, measured) as
    list_filter([
        case when measured.gpu <> asked.gpu then 'GPU' end,
        case
            when measured.architecture <> asked.architecture then 'model family'
            when measured.model <> asked.model then 'size of the model'
        end,
        case when measured.engine <> asked.engine then 'engine' end,
        case when measured.weight_format <> asked.weight_format then 'format' end,
        case when measured.tensor_parallel_size <> asked.tensor_parallel_size then 'degree' end,
        case
            when measured.engine <> asked.engine then null
            when asked.engine_version is null then 'version (not said)'
            when floor(macros.version_number(measured.engine_version)) <> floor(macros.version_number(asked.engine_version)) then 'version'
        end,
        case when asked.most_clients is null then 'kind of load'
            when asked.most_clients < measured.least_clients or asked.most_clients > measured.most_clients then 'load' end
    ], lambda word: word is not null);

-- How far it is: 0 where nothing differs. The weights say how much of a prediction each difference moves, by judgement: another vendor's
-- GPU most, then the engine, the family of the model, the format; degrees and clients count by their doublings.
--   select macros.measured_distance({'gpu': 'H100', 'family': 'hopper', 'vendor': 'nvidia', 'model': 'qwen3-32b', 'architecture': 'qwen3', 'tensor_parallel_size': 2,
--       'weight_format': 'fp8', 'engine': 'vllm', 'engine_version': '0.12.0', 'least_clients': 8, 'most_clients': 8},
--       {'gpu': 'H200', 'family': 'hopper', 'vendor': 'nvidia', 'model': 'qwen3-32b', 'architecture': 'qwen3', 'tensor_parallel_size': 2,
--       'weight_format': 'fp8', 'engine': 'vllm', 'engine_version': '0.12.0', 'least_clients': 8, 'most_clients': 64}) as distance
create macro macros.measured_distance(asked, measured) as
    case
        when measured.gpu = asked.gpu then 0e0
        when measured.family = asked.family then 2e0
        when measured.vendor = asked.vendor then 4e0
        else 8e0
    end
    + case when measured.engine = asked.engine then 0e0 else 5e0 end
    + case
        when measured.model = asked.model then 0e0
        when measured.architecture = asked.architecture then 1e0
        else 3e0
    end
    + case when coalesce(measured.weight_format = asked.weight_format, false) then 0e0 else 1.5e0 end
    + coalesce(abs(log2(measured.tensor_parallel_size::double / asked.tensor_parallel_size)), 1e0)
    + coalesce(least(1e0, abs(floor(macros.version_number(measured.engine_version)) - floor(macros.version_number(asked.engine_version))) / 3), 1e0)
    + case
        when asked.most_clients is null or measured.most_clients is null then 0.5e0
        else 0.5e0 * greatest(0e0, log2(asked.most_clients / measured.most_clients), log2(measured.least_clients / asked.most_clients))
    end;
