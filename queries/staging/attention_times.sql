-- One row per measured time of attention of one layer on one GPU, built in or ingested; prefill behind a cached prefix is not among them.
-- macros.decode_attention_curve and macros.prefill_attention_curve find those with the nearest heads.
-- group: kernels
-- source                      'built in', or the source's name
-- gpu                         name in seeds.gpus; of a GPU that is not there, as its file says it
-- engine                      that the kernels are of
-- engine_version              its version
-- phase                       decode: one new token a sequence; prefill: the whole context is new
-- kv_format                   of the KV cache, name in seeds.formats
-- kernel                      which implementation was the fastest; several where that changes along the curve
-- query_heads                 on this GPU
-- kv_heads                    on this GPU
-- head_dim                    elements of a head
-- window_tokens               that a token looks back; null: the whole context
-- batch                       sequences
-- context_tokens              of each sequence, the new ones with them
-- seconds                     measured, seconds; of several measurements the lower median
select
    source,
    gpu,
    engine,
    engine_version,
    phase,
    kv_format,
    kernel,
    query_heads,
    kv_heads,
    head_dim,
    window_tokens,
    batch,
    unnest(contexts) as context_tokens,
    unnest(seconds) as seconds
from macros.attention_curves()
