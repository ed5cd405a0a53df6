-- What macros.newest_fitted says of each engine.
select
    engine,
    max_by(engine_version, macros.version_number(engine_version)) as engine_version
from seeds.constants
where name = 'fitted_engine'
    and engine = 'vllm'
group by engine;
