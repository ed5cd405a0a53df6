-- Measured times of one all-reduce as curves over the size of the message, and the nearest one.

-- All curves, built in and taken in.
create macro macros.all_reduce_curves() as table
with measured as (
    select
        source_id,
        table_seq,
        gpus,
        is_graph,
        kernel,
        message_bytes,
        quantile_disc(seconds, 0.5e0) as seconds
    from raw.all_reduce_times
    group by all
),

fastest as (
    select
        source_id,
        table_seq,
        gpus,
        is_graph,
        message_bytes,
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
    gpus,
    is_graph,
    kernel,
    message_bytes,
    seconds
from seeds.all_reduce_curves
union all
select
    devices.source,
    devices.gpu,
    devices.engine,
    devices.engine_version,
    fastest.gpus,
    fastest.is_graph,
    string_agg(distinct fastest.kernel, ' ' order by fastest.kernel),
    list(fastest.message_bytes order by fastest.message_bytes),
    list(fastest.seconds order by fastest.message_bytes)
from fastest
inner join macros.kernel_devices() as devices on devices.source_id = fastest.source_id and devices.table_seq = fastest.table_seq
group by
    devices.source,
    devices.gpu,
    devices.engine,
    devices.engine_version,
    fastest.gpus,
    fastest.is_graph;

-- Rows (message_bytes, seconds) of one all-reduce between so many GPUs, or the nearest number that was measured. Another
-- GPU's table stands for one with the same link.
--   message_bytes   that each GPU holds
--   seconds         of one all-reduce
--   from_gpu, from_engine, from_version, from_source, from_gpus, kernel   what was measured
create macro macros.all_reduce_curve(of_gpu, of_engine, of_version, of_gpus, of_is_graph) as table
with nearest as (
    select
        arg_min(
            curves,
            (
                macros.kernel_distance(
                    curves.engine, '', curves.gpu, curves.engine_version, of_engine, '', of_gpu, of_version,
                    peak.gpu[curves.gpu], peak.gpu[of_gpu]
                )
                + 1e6 * abs(ln(curves.gpus / of_gpus::double)),
                curves.source = 'built in',
                curves.source
            )
        ) as found
    from macros.all_reduce_curves() as curves
    cross join macros.peaks() as peak
    where curves.is_graph = of_is_graph
        and (curves.gpu = of_gpu or peak.gpu[curves.gpu].link = peak.gpu[of_gpu].link)
)

select
    unnest(found.message_bytes) as message_bytes,
    unnest(found.seconds) as seconds,
    found.gpu as from_gpu,
    found.engine as from_engine,
    found.engine_version as from_version,
    found.source as from_source,
    found.gpus as from_gpus,
    found.kernel as kernel
from nearest
where found is not null;
