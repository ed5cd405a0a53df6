-- The rows of macros.ingested_rates().
with fits as (
    select
        'weight_bandwidth_ratio' as name,
        '*' as architecture,
        * exclude (launch_s)
    from macros.bandwidth_fits()
    union all by name
    select
        'kv_bandwidth_ratio' as name,
        latent.architecture,
        cache.* exclude (is_latent)
    from macros.cache_fits() as cache
    inner join (
        select distinct
            case when is_mla then architecture else '*' end as architecture,
            is_mla
        from seeds.models
    ) as latent on latent.is_mla = cache.is_latent
)

select
    name,
    '*' as engine,
    engine_version,
    gpu,
    format,
    share_ratio as value,
    macros.curve_origin(engine, engine_version, gpu, false) as source,
    architecture,
    null as deployment,
    engine as measured_with
from fits
where source <> 'built in'
    and share_ratio is not null;
