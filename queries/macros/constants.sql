-- How a name, a version and a constant are found.
-- group: model

-- The version of an engine that stands for one that is not named: the newest that constants were fitted to. What was fitted to TensorRT-LLM
-- and SGLang is partly of results that name no version, and stands for those.
--   select macros.newest_fitted('vllm')
create macro macros.newest_fitted(engine) as
    case when engine = 'vllm' then (select newest_fitted.engine_version from warehouse.newest_fitted) end;

-- Whether `wanted` is a seed row's name or one of its aliases, in any case.
--   select macros.is_named('fp8', 'e4m3;float8', 'E4M3')
create macro macros.is_named(name, aliases, wanted) as
    lower(wanted) = lower(name)
    or coalesce(list_contains(string_split(lower(aliases), ';'), lower(wanted)), false);

-- A version as a number that can be compared: 0.12.3 is 12.03, 1.4 is 1004; null
-- where there is none.
--   select macros.version_number('0.24.0')
create macro macros.version_number(version) as
    1000 * try_cast(regexp_extract(version, '(\d+)\.(\d+)', 1) as integer)
    + try_cast(regexp_extract(version, '(\d+)\.(\d+)', 2) as integer)
    + coalesce(try_cast(regexp_extract(version, '\d+\.\d+\.(\d+)', 1) as integer), 0) / 100;

-- Constants of the seeds, those that tables of kernel times make which were taken in, and those that calibrations found for one
-- deployment; of several calibrations of one under one minor version of the engine, the last. measured_with is the engine of a table;
-- null: it is of no ingested table.
--   select name, engine, format, value from macros.constants() limit 3
create macro macros.constants() as table
select * from warehouse.constants;

-- The deployments that have a calibration, each as macros.deployment_key names it, and the version that the last was made under.
--   select count(*) as deployments, count(engine_version) as of_a_version from macros.calibrated()
create macro macros.calibrated() as table
select
    macros.deployment_key(
        calibrations.gpu, calibrations.model,
        calibrations.tensor_parallel_size, calibrations.expert_parallel_size, calibrations.data_parallel_size,
        calibrations.weight_format, calibrations.kv_format, calibrations.engine
    ) as deployment,
    max_by({'version': calibrations.engine_version}, calibrations.calibration_id).version as engine_version -- a null counts
from raw.calibrations
group by all;

-- How far a row of macros.constants is from a deployment: what says more about
-- the engine is nearer, then the version, then the GPU, then the format.
--   select macros.constant_distance('vllm', '0.12.0', '*', 'bf16', '0.24.0')
create macro macros.constant_distance(
    engine, engine_version, gpu, format, wanted_version
) as
    case when engine = '*' then 1e9 else 0e0 end
    + case
        when engine_version = '*' and macros.version_number(wanted_version) is null then 0e0
        when engine_version = '*' then 1e5
        when macros.version_number(wanted_version) is null then 1e6
        else abs(macros.version_number(engine_version) - macros.version_number(wanted_version))
    end
    + case when gpu = '*' then 0.5e0 else 0e0 end
    + case when format = '*' then 0.25e0 else 0e0 end;

-- How far the rate of an ingested table is. A table of the engine itself goes before all that is built in, the nearest version first, or
-- the newest; a table of another engine only before what is built in for any engine (1e9 and more), because what was fitted to an engine
-- holds more of it than a rate.
--   select macros.table_distance('vllm', '0.19.0', 'vllm', '0.24.0')
create macro macros.table_distance(measured_with, engine_version, wanted_engine, wanted_version) as
    case when measured_with = wanted_engine then -1e6 else 9e8 end
    + coalesce(
        abs(macros.version_number(engine_version) - macros.version_number(wanted_version)),
        9999 - coalesce(macros.version_number(engine_version), 0)
    );
