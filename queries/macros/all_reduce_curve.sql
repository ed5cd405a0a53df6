-- Measured times of one all-reduce as curves over the size of the message, and the nearest one.
-- group: kernels

-- All curves, built in and ingested: message_bytes and seconds are lists of the same length.
--   select gpu, engine, gpus, kernel from macros.all_reduce_curves() limit 3
create macro macros.all_reduce_curves() as table
select
    'built in' as source,
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
                'gpus': gpus,
                'is_graph': is_graph
            },
            'x': message_bytes,
            'kernel': kernel,
            'seconds': seconds
        })
    from raw.all_reduce_times
));

-- Rows (message_bytes, seconds) of one all-reduce between so many GPUs, or the nearest number that was measured. A table of GPUs with the
-- same link comes first, as it stands; one of another link is only better than none.
--   message_bytes   that each GPU holds
--   seconds         of one all-reduce
--   from_gpu, from_engine, from_version, from_source, from_gpus, kernel   what was measured
--   is_carried      from another GPU or number of GPUs
--   is_other_link   from GPUs with another link
--   select message_bytes, seconds, kernel from macros.all_reduce_curve('H200', 'vllm', '0.24.0', 2, true) limit 3
create macro macros.all_reduce_curve(of_gpu, of_engine, of_version, of_gpus, of_is_graph) as table
with nearest as (
    select
        macros.nearest_curve(
            curves,
            macros.kernel_distance(curves, '', of_engine, '', of_gpu, of_version, peak) + 1e6 * abs(ln(curves.gpus / of_gpus::double))
            + case when curves.gpu = of_gpu or peak.gpu[curves.gpu].link is not distinct from peak.gpu[of_gpu].link then 0e0 else 1e9 end
        ) as found,
        any_value(peak) as peak
    from macros.all_reduce_curves() as curves
    cross join macros.peaks() as peak
    where curves.is_graph = of_is_graph
)

select
    unnest(found.message_bytes) as message_bytes,
    unnest(found.seconds) as seconds,
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
