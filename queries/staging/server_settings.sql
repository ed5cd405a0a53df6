-- One row per run and setting that was asked for or that the server says it runs with.
-- run_id      the replay
-- setting     its name, as vLLM calls it
-- asked       by the environment of the run: as it was given, or our own default; null where neither is
-- effective   as the server says; null where it does not
with asked as (
    select
        run_id,
        'model' as setting,
        document ->> '$.target.model' as asked
    from raw.runs
    union all
    select
        run_id,
        unnest(['engine_version', 'tensor_parallel_size', 'quantization', 'kv_cache_dtype', 'max_num_seqs', 'max_num_batched_tokens']),
        unnest([
            document ->> '$.environment.engine_version',
            nullif(document ->> '$.environment.tensor_parallel_size', '0'),
            document ->> '$.environment.quantization',
            document ->> '$.environment.kv_cache_dtype',
            nullif(document ->> '$.environment.max_num_seqs', '0'),
            nullif(document ->> '$.environment.max_num_batched_tokens', '0')
        ])
    from raw.runs
),

said as (
    select
        run_id,
        setting,
        document ->> ('$.effective."' || setting || '"') as effective
    from (
        select
            run_id,
            document,
            unnest(json_keys(document -> '$.effective')) as setting
        from raw.runs
    ) as each
)

select
    coalesce(asked.run_id, said.run_id) as run_id,
    coalesce(asked.setting, said.setting) as setting,
    nullif(asked.asked, '') as asked,
    nullif(said.effective, '') as effective
from asked
full join said on said.run_id = asked.run_id and said.setting = asked.setting
where nullif(asked.asked, '') is not null
    or nullif(said.effective, '') is not null
