-- One row per measured time of a whole attention block with a latent cache on one GPU, built in or ingested.
-- macros.mla_curve finds the nearest ones.
-- group: kernels
-- source                      'built in', or the source's name
-- gpu                         name in seeds.gpus; of a GPU that is not there, as its file says it
-- engine                      that the kernels are of
-- engine_version              its version
-- phase                       decode: one new token a sequence; prefill: the whole context is new
-- model                       whose block it is
-- format                      of its matrices, name in seeds.formats
-- kv_format                   of the latent cache, name in seeds.formats
-- kernel                      which implementation was the fastest; several where that changes along the curve
-- query_heads                 on this GPU
-- batch                       sequences
-- context_tokens              of each sequence, the new ones with them
-- seconds                     measured, seconds; of several measurements the lower median
select
    source,
    gpu,
    engine,
    engine_version,
    phase,
    model,
    format,
    kv_format,
    kernel,
    query_heads,
    batch,
    unnest(contexts) as context_tokens,
    unnest(seconds) as seconds
from macros.mla_curves()
