-- One row per model that a run asked for and whose deployment the bandwidth model knows: the run's own, and those that classes asked for instead, of
-- which replay --class-environment or the server said what they run on. Each is taken to have its GPUs for itself.
-- Held while runs are computed.
-- group: runs
-- run_id       the replay
-- other_model  the model that classes asked for instead of the run's own, as its server names it; '': the run's own
-- band_ratio   half the 90 % band: measured times lie between predicted / (1 + it) and predicted * (1 + it)
-- d            what staging.deployments says of the run's own model, as one value, for the macros
with asked as (
    select
        run_id,
        '' as other_model,
        to_json(deployment) as environment
    from staging.runs
    where unmodelled is null
    union all
    select
        run_id,
        unnest(map_keys(environments)),
        unnest(map_values(environments))
    from staging.runs
)

select
    asked.run_id,
    asked.other_model,
    macros.step_band_ratio(deployment.d, 16, 2000) as band_ratio,
    deployment.d
from asked
cross join lateral macros.deployment(asked.environment) as deployment
where macros.sharing_problem(deployment.d) is null
