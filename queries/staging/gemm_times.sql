-- One row per measured time of multiplying by an n x k weight on one GPU, built in or ingested.
-- macros.gemm_curve interpolates between them.
-- group: kernels
-- source              'built in', or the source's name
-- gpu                 name in seeds.gpus; of a GPU that is not there, as its file says it
-- engine              that the kernels are of
-- engine_version      its version
-- format              of the multiplication, name in seeds.formats
-- kernel              which implementation was the fastest; several where that changes along the curve
-- n                   the weight's size out
-- k                   the weight's size in
-- tokens              of the step
-- seconds             measured, seconds; of several measurements the lower median
select
    source,
    gpu,
    engine,
    engine_version,
    format,
    kernel,
    n,
    k,
    unnest(tokens) as tokens,
    unnest(seconds) as seconds
from macros.gemm_curves()
