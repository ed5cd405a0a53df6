-- Measured times of one collective between GPUs as curves over the size of the message, and the nearest one.
-- group: kernels

-- All curves, built in and ingested: message_bytes and seconds are lists of the same length.
--   operation   all_reduce, by the engine's own kernels; gather_scatter, the mean of an all-gather and a reduce-scatter of that size, which
--               bring each replica's tokens to the experts of all and back (vLLM's default); all_to_all
--   select operation, gpu, engine, gpus, kernel from macros.all_reduce_curves() limit 3
create macro macros.all_reduce_curves() as table
select
    'built in' as source,
    'all_reduce' as operation,
    *
from seeds.all_reduce_curves
union all by name
select
    * exclude (shape, xs),
    unnest(shape),
    xs as message_bytes
from macros.measured_curves((
    select
        list({
            'source_id': source_id,
            'table_seq': table_seq,
            'shape': {
                'operation': operation,
                'gpus': gpus,
                'is_graph': is_graph
            },
            'x': message_bytes,
            'kernel': kernel,
            'seconds': seconds
        })
    from (
        select
            source_id,
            table_seq,
            'all_reduce' as operation,
            gpus,
            is_graph,
            message_bytes,
            kernel,
            seconds
        from raw.all_reduce_times
        union all
        select
            source_id,
            table_seq,
            'gather_scatter',
            gpus,
            false,
            message_bytes,
            min(kernel),
            (min(seconds) filter (where operation = 'all_gather') + min(seconds) filter (where operation = 'reduce_scatter')) / 2
        from raw.exchange_times
        where operation in ('all_gather', 'reduce_scatter')
        group by all
        having count(distinct operation) = 2
        union all
        select
            source_id,
            table_seq,
            operation,
            gpus,
            false,
            message_bytes,
            kernel,
            seconds
        from raw.exchange_times
        where operation = 'all_to_all'
    ) as collectives
));

-- Rows (message_bytes, seconds) of one collective between so many GPUs, or the nearest number that was measured. A table of GPUs with the
-- same link comes first, as it stands; one of another link is only better than none. of_operation is as in macros.all_reduce_curves; where
-- nothing of it was measured, an all-reduce stands for it.
--   message_bytes   that each GPU holds
--   seconds         of one collective
--   operation       which
--   from_gpu, from_engine, from_version, from_source, from_gpus, kernel   what was measured
--   is_carried      from another GPU or number of GPUs
--   is_other_link   from GPUs with another link
--   select message_bytes, seconds, kernel from macros.all_reduce_curve('H200', 'vllm', '0.24.0', 2, true) limit 3
create macro macros.all_reduce_curve(of_gpu, of_engine, of_version, of_gpus, of_is_graph, of_operation := 'all_reduce') as table
with nearest as (
    select
        macros.nearest_curve(
            curves,
            macros.kernel_distance(curves, '', of_engine, '', of_gpu, of_version, peak) + 1e6 * abs(ln(curves.gpus / of_gpus::double))
            + case when curves.gpu = of_gpu or peak.gpu[curves.gpu].link is not distinct from peak.gpu[of_gpu].link then 0e0 else 1e9 end
            + case when curves.operation = of_operation then 0e0 else 5e8 end
        ) as found,
        any_value(peak) as peak
    from macros.all_reduce_curves() as curves
    cross join macros.peaks() as peak
    where curves.operation = 'all_reduce'
        and curves.is_graph = of_is_graph
        or curves.operation = of_operation
        and curves.operation <> 'all_reduce'
)

select
    unnest(found.message_bytes) as message_bytes,
    unnest(found.seconds) as seconds,
    found.operation as operation,
    found.gpu as from_gpu,
    found.engine as from_engine,
    found.engine_version as from_version,
    found.source as from_source,
    found.gpus as from_gpus,
    found.kernel as kernel,
    found.gpu <> of_gpu or found.gpus <> of_gpus as is_carried,
    found.gpu <> of_gpu and peak.gpu[found.gpu].link is distinct from peak.gpu[of_gpu].link as is_other_link
from nearest
where found is not null;
