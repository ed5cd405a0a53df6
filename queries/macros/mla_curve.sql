-- Measured times of a whole attention block with a latent cache, its matrices with it, as curves over the context, and
-- the one nearest to a model's.

-- All curves, built in and taken in.
create macro macros.mla_curves() as table
with measured as (
    select
        source_id,
        table_seq,
        phase,
        model,
        macros.kernel_format(format) as format,
        macros.kernel_format(kv_format) as kv_format,
        query_heads,
        batch,
        kernel,
        new_tokens + past_tokens as context,
        quantile_disc(seconds, 0.5e0) as seconds
    from raw.mla_times
    where phase = 'decode' or past_tokens = 0
    group by all
),

fastest as (
    select
        source_id,
        table_seq,
        phase,
        model,
        format,
        kv_format,
        query_heads,
        batch,
        context,
        arg_min(kernel, (seconds, kernel)) as kernel,
        min(seconds) as seconds
    from measured
    group by all
)

select
    'built in' as source,
    gpu,
    engine,
    engine_version,
    phase,
    model,
    format,
    kv_format,
    query_heads,
    batch,
    kernel,
    contexts,
    seconds
from seeds.mla_curves
union all
select
    devices.source,
    devices.gpu,
    devices.engine,
    devices.engine_version,
    fastest.phase,
    fastest.model,
    fastest.format,
    fastest.kv_format,
    fastest.query_heads,
    fastest.batch,
    string_agg(distinct fastest.kernel, ' ' order by fastest.kernel),
    list(fastest.context order by fastest.context),
    list(fastest.seconds order by fastest.context)
from fastest
inner join macros.kernel_devices() as devices on devices.source_id = fastest.source_id and devices.table_seq = fastest.table_seq
group by
    devices.source,
    devices.gpu,
    devices.engine,
    devices.engine_version,
    fastest.phase,
    fastest.model,
    fastest.format,
    fastest.kv_format,
    fastest.query_heads,
    fastest.batch;

-- Rows (batch, context, seconds) of a whole block with as many heads on a GPU: its projections, and attention over the latent
-- cache. of_phase is decode or prefill. To another GPU it is carried by the ratio of their bandwidths, in prefill of their
-- arithmetic. No rows: no table has so many heads with that format of the cache.
--   batch           sequences
--   context         tokens of each, the new ones with them
--   seconds         on one GPU
--   from_gpu, from_engine, from_version, from_format, from_source, from_model, kernel   what was measured
--   is_carried      from another GPU
create macro macros.mla_curve(of_phase, of_gpu, of_engine, of_version, of_format, of_kv_format, of_query_heads) as table
with near as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.model,
        curves.format,
        string_agg(distinct curves.kernel, ' ' order by curves.kernel) as kernel,
        list({'batch': curves.batch, 'contexts': curves.contexts, 'seconds': curves.seconds}) as curves
    from macros.mla_curves() as curves
    where curves.phase = of_phase
        and curves.kv_format = of_kv_format
        and curves.query_heads = of_query_heads
        and macros.format_family(curves.format) = macros.format_family(of_format)
    group by
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.model,
        curves.format
),

nearest as (
    select
        arg_min(
            near,
            (
                macros.kernel_distance(
                    near.engine, near.format, near.gpu, near.engine_version, of_engine, of_format, of_gpu, of_version,
                    peak.gpu[near.gpu], peak.gpu[of_gpu]
                ),
                near.source = 'built in',
                near.source
            )
        ) as found
    from near
    cross join macros.peaks() as peak
    where near.gpu = of_gpu or peak.gpu[near.gpu] is not null and peak.gpu[of_gpu] is not null
),

batches as (
    select
        found,
        unnest(found.curves) as curve
    from nearest
    where found is not null
),

points as (
    select
        batches.found,
        batches.curve.batch as batch,
        unnest(batches.curve.contexts) as context,
        unnest(batches.curve.seconds) as measured_s
    from batches
)

select
    points.batch,
    points.context,
    points.measured_s * case
        when points.found.gpu = of_gpu then 1e0
        when of_phase = 'decode' then peak.gpu[points.found.gpu].hbm_bytes_per_s / peak.gpu[of_gpu].hbm_bytes_per_s
        else peak.gpu[points.found.gpu].bf16_flop_per_s / peak.gpu[of_gpu].bf16_flop_per_s
    end as seconds,
    points.found.gpu as from_gpu,
    points.found.engine as from_engine,
    points.found.engine_version as from_version,
    points.found.format as from_format,
    points.found.source as from_source,
    points.found.model as from_model,
    points.found.kernel as kernel,
    points.found.gpu <> of_gpu as is_carried
from points
cross join macros.peaks() as peak;
