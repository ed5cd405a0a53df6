-- One row per measured time of an all-reduce, built in or ingested.
-- macros.all_reduce_curve finds the nearest ones.
-- group: kernels
-- source                          'built in', or the source's name
-- gpu                             name in seeds.gpus; of a GPU that is not there, as its file says it
-- engine                          that the kernels are of
-- engine_version                  its version
-- gpus                            that take part
-- is_graph                        under CUDA graphs; else launched one by one
-- kernel                          which implementation was the fastest; several where that changes along the curve
-- message_bytes                   that each GPU holds
-- seconds                         measured, seconds; of several measurements the lower median
select
    source,
    gpu,
    engine,
    engine_version,
    gpus,
    is_graph,
    kernel,
    unnest(message_bytes) as message_bytes,
    unnest(seconds) as seconds
from macros.all_reduce_curves()
where operation = 'all_reduce'
