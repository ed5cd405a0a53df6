-- group: model

-- What a prediction rests on: one row per constant that the terms of a deployment use, the largest
-- part of the argument first. `of_d` is a row of macros.deployment as one struct.
--   seq             order
--   name            of the constant, as in seeds.constants
--   format          what it is of: a format of weights, KV cache or arithmetic; '*' where that does not matter
--   value           what is used, in its unit
--   unit            s, bytes, ratio, 1
--   origin          'calibration' of this deployment, 'fitted' to serving results, 'measured' on an engine of our own, 'kernel tables', or 'assumed'
--   engine, engine_version, gpu   what it was found on; '*': any
--   is_other_version              the engine has no constant of the version that was asked for: it is of the nearest
--   source          where it is from
--   select a.name, a.value, a.unit, a.origin from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}) as made
--   cross join lateral macros.assumptions(made.d) as a order by a.seq
create macro macros.assumptions(of_d) as table
with given as (
    select of_d as d
),

used as (
    select
        d,
        d.constants_version as engine_version,
        unnest([
            {'seq': 1, 'name': 'weight_bandwidth_ratio', 'format': d.weight_format, 'is_used': d.packed_bytes > 0},
            {'seq': 2, 'name': 'weight_bandwidth_ratio', 'format': 'bf16', 'is_used': d.weight_format <> 'bf16'},
            {'seq': 3, 'name': 'expert_bandwidth_ratio', 'format': d.weight_format, 'is_used': d.experts > 0},
            {'seq': 4, 'name': 'expert_layer_s', 'format': 'bf16', 'is_used': d.experts > 0},
            {'seq': 5, 'name': 'expert_table_ratio', 'format': 'bf16', 'is_used': d.expert_table_ratio > 0},
            {'seq': 6, 'name': 'expert_overlap_s', 'format': 'bf16', 'is_used': d.expert_table_ratio > 0},
            {'seq': 7, 'name': 'kv_bandwidth_ratio', 'format': d.kv_format, 'is_used': true},
            {'seq': 8, 'name': 'compute_ratio', 'format': d.compute_format, 'is_used': true},
            {'seq': 9, 'name': 'compute_ratio', 'format': 'bf16', 'is_used': d.compute_format <> 'bf16'},
            {'seq': 9, 'name': 'expert_compute_ratio', 'format': d.weight_format, 'is_used': d.experts > 0},
            {'seq': 10, 'name': 'attention_compute_ratio', 'format': 'bf16', 'is_used': true},
            {'seq': 11, 'name': 'roof_hardness', 'format': 'bf16', 'is_used': true},
            {'seq': 12, 'name': 'layer_s', 'format': 'bf16', 'is_used': true},
            {'seq': 13, 'name': 'mla_layer_s', 'format': 'bf16', 'is_used': d.is_mla},
            {'seq': 14, 'name': 'gemm_overhead_s', 'format': d.weight_format, 'is_used': true},
            {'seq': 15, 'name': 'step_s', 'format': 'bf16', 'is_used': true},
            {'seq': 16, 'name': 'sequence_s', 'format': 'bf16', 'is_used': true},
            {'seq': 17, 'name': 'submit_s', 'format': 'bf16', 'is_used': d.submit_s > 0},
            {'seq': 17, 'name': 'launch_layer_s', 'format': 'bf16', 'is_used': d.launch_s > 0},
            {'seq': 17, 'name': 'launch_experts_s', 'format': 'bf16', 'is_used': d.launch_s > 0 and d.experts > 0},
            {'seq': 17, 'name': 'chunk_s', 'format': 'bf16', 'is_used': d.chunk_s > 0},
            {'seq': 17, 'name': 'mixed_prompt_ratio', 'format': 'bf16', 'is_used': d.mixed_prompt_ratio <> 1},
            {'seq': 17, 'name': 'send_s', 'format': 'bf16', 'is_used': d.send_s > 0},
            {'seq': 17, 'name': 'send_token_s', 'format': 'bf16', 'is_used': d.send_token_s > 0},
            {'seq': 17, 'name': 'send_crowd_s', 'format': 'bf16', 'is_used': d.send_crowd_s > 0},
            {'seq': 17, 'name': 'workers_sequence_ratio', 'format': 'bf16', 'is_used': d.tensor_parallel_size > 1},
            {'seq': 18, 'name': 'prefill_share', 'format': 'bf16', 'is_used': true},
            {'seq': 19, 'name': 'other_memory_bytes', 'format': 'bf16', 'is_used': true}
        ]) as wanted
    from given
),

asked as (
    select
        d,
        engine_version,
        wanted,
        {
            'gpu': d.gpu, 'engine': d.engine, 'version': engine_version, 'format': wanted.format,
            'deployment': macros.deployment_key(
                d.gpu, d.model, d.tensor_parallel_size, d.expert_parallel_size, d.data_parallel_size, d.weight_format, d.kv_format, d.engine
            ),
            'architecture': d.architecture
        } as question
    from used
    where wanted.is_used
)

select
    asked.wanted.seq as seq,
    nearest.name,
    case when nearest.constant.format = '*' then '*' else nearest.question.format end as format,
    nearest.constant.value as value,
    coalesce(units.unit, '1') as unit,
    case
        when nearest.constant.deployment is not null then 'calibration'
        when nearest.constant.source like 'fitted%' then 'fitted'
        when nearest.constant.source like 'measured in%' then 'measured'
        when nearest.constant.source like 'kernel tables%' or nearest.constant.measured_with is not null then 'kernel tables'
        else 'assumed'
    end as origin,
    nearest.constant.engine as engine,
    nearest.constant.engine_version as engine_version,
    nearest.constant.gpu as gpu,
    nearest.constant.engine_version <> '*'
    and coalesce(
        floor(macros.version_number(nearest.constant.engine_version)) <> floor(macros.version_number(asked.engine_version)),
        true
    ) as is_other_version,
    nearest.constant.source as source
from asked
inner join macros.nearest_constants((select list(distinct asked.question) from asked)) as nearest
    on nearest.question = asked.question
    and nearest.name = asked.wanted.name
left join (
    select
        name,
        min(unit) as unit
    from seeds.constants
    group by name
) as units on units.name = nearest.name
where not (nearest.name = 'gemm_overhead_s' and nearest.constant.value = 0)
    and not (nearest.name = 'workers_sequence_ratio' and nearest.constant.value = 1);
