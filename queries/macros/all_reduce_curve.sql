-- Measured times of one collective between GPUs as curves over the size of the message, and the nearest one.
-- group: kernels

-- All curves, built in and ingested: message_bytes and seconds are lists of the same length.
--   operation   all_reduce, by the engine's own kernels; gather_scatter, the mean of an all-gather and a reduce-scatter of that size, which
--               bring each replica's tokens to the experts of all and back (vLLM's default); all_to_all
--   select operation, gpu, engine, gpus, kernel from macros.all_reduce_curves() limit 3
create macro macros.all_reduce_curves() as table
select * from warehouse.all_reduce_curves;

-- What macros.all_reduce_curve answers to many questions, structs of its arguments: gpu, engine, version, gpus, is_graph, operation.
--   select question.gpus, message_bytes, seconds from macros.all_reduce_curves_of([{'gpu': 'H200', 'engine': 'vllm', 'version': '0.24.0',
--       'gpus': 2, 'is_graph': true, 'operation': 'all_reduce'}]) limit 3
create macro macros.all_reduce_curves_of(questions) as table
with curves as (
    select
        each as curve,
        peak
    from macros.all_reduce_curves() as each
    cross join macros.peaks() as peak
),

nearest as (
    select
        asked.question,
        macros.nearest_curve(
            curves.curve,
            macros.kernel_distance(curves.curve, '', asked.question.engine, '', asked.question.gpu, asked.question.version, curves.peak)
            + 1e6 * abs(ln(curves.curve.gpus / asked.question.gpus::double))
            + case
                when curves.curve.gpu = asked.question.gpu
                    or curves.peak.gpu[curves.curve.gpu].link is not distinct from curves.peak.gpu[asked.question.gpu].link then 0e0
                else 1e9
            end
            + case when curves.curve.operation = asked.question.operation then 0e0 else 5e8 end
        ) as found,
        any_value(curves.peak) as peak
    from (select distinct unnest(questions) as question) as asked
    inner join curves
        on curves.curve.operation = 'all_reduce'
        and curves.curve.is_graph = asked.question.is_graph
        or curves.curve.operation = asked.question.operation
        and curves.curve.operation <> 'all_reduce'
    group by asked.question
)

select
    question,
    unnest(found.message_bytes) as message_bytes,
    unnest(found.seconds) as seconds,
    found.operation as operation,
    found.gpu as from_gpu,
    found.engine as from_engine,
    found.engine_version as from_version,
    found.source as from_source,
    found.gpus as from_gpus,
    found.kernel as kernel,
    found.gpu <> question.gpu or found.gpus <> question.gpus as is_carried,
    found.gpu <> question.gpu and peak.gpu[found.gpu].link is distinct from peak.gpu[question.gpu].link as is_other_link
from nearest
where found is not null;

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
select * exclude (question)
from macros.all_reduce_curves_of([{
    'gpu': of_gpu, 'engine': of_engine, 'version': of_version::varchar, 'gpus': of_gpus, 'is_graph': of_is_graph, 'operation': of_operation
}]);
