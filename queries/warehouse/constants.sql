-- The rows of macros.constants().
select
    name,
    engine,
    engine_version,
    gpu,
    format,
    value,
    source,
    architecture,
    null as deployment,
    null as measured_with
from seeds.constants
union all by name
select *
from macros.ingested_rates()
union all by name
select
    calibrations.name,
    calibrations.engine,
    coalesce(calibrations.engine_version, '*') as engine_version,
    calibrations.gpu,
    calibrations.format,
    calibrations.value,
    'calibration ' || calibrations.calibration_id || case when calibrations.requests = 0 then ' of ' else ' of run ' end || calibrations.run_ids as source,
    '*' as architecture,
    macros.deployment_key(
        calibrations.gpu, calibrations.model,
        calibrations.tensor_parallel_size, calibrations.expert_parallel_size, calibrations.data_parallel_size,
        calibrations.weight_format, calibrations.kv_format, calibrations.engine
    ) as deployment
from raw.calibrations
where calibrations.calibration_id = (
    select max(later.calibration_id)
    from raw.calibrations as later
    where later.gpu = calibrations.gpu
        and later.model = calibrations.model
        and later.tensor_parallel_size = calibrations.tensor_parallel_size
        and later.expert_parallel_size = calibrations.expert_parallel_size
        and later.data_parallel_size = calibrations.data_parallel_size
        and later.weight_format = calibrations.weight_format
        and later.kv_format = calibrations.kv_format
        and later.engine = calibrations.engine
        and floor(macros.version_number(later.engine_version))
            is not distinct from floor(macros.version_number(calibrations.engine_version))
);
