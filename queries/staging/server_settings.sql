-- One row per run and setting that was asked for or that the server says it runs with. GPU and catalogue model are said by a
-- server that simulates, or follow from the model that it serves.
-- Kept per run.
-- group: runs
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
        setting,
        nullif(document ->> ('$.environment."' || setting || '"'), '0')
    from (
        select
            run_id,
            document,
            unnest(json_keys(document -> '$.environment')) as setting
        from raw.runs
    ) as named
    where setting not in ('gpu', 'catalog_model', 'engine', 'compute_dtype', 'hbm_bytes_per_s')
),

-- What no configuration names: the GPU and the model that a server simulates, or else were seen to differ before the run.
simulated as (
    select
        run_id,
        unnest(['gpu', 'catalog_model']) as setting,
        unnest([document ->> '$.environment.gpu', document ->> '$.environment.catalog_model']) as asked,
        unnest([document ->> '$.server.simulates.gpu', document ->> '$.server.simulates.catalog_model']) as effective
    from raw.runs
),

differing as (
    select
        run_id,
        said ->> '$.setting' as setting,
        any_value(said ->> '$.said') as effective
    from (
        select
            run_id,
            unnest((document -> '$.readiness.differences')::json[]) as said
        from raw.runs
    ) as each
    group by
        run_id,
        setting
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
union all
select
    simulated.run_id,
    simulated.setting,
    simulated.asked,
    coalesce(nullif(simulated.effective, ''), differing.effective) as effective
from simulated
left join differing on differing.run_id = simulated.run_id and differing.setting = simulated.setting
where nullif(simulated.asked, '') is not null
    and not starts_with(simulated.asked, '{') -- a model by its config alone has no name to compare
