-- One row per measured curve: a whole attention block with a latent cache on one GPU, its matrices with it, against the context.
-- A thinned extract of the tables of NVIDIA's aiconfigurator (Apache-2.0); NOTICE in this folder says how it was thinned.
-- staging.mla_times has it point by point, with what was ingested.
-- group: kernels
-- phase             decode: one new token a sequence; prefill: the whole context is new
-- gpu               name in seeds.gpus
-- engine            that the kernels are of
-- engine_version    its version
-- model             whose block it is
-- format            of its matrices, name in seeds.formats
-- kv_format         of the latent cache, name in seeds.formats
-- kernel            which implementation was the fastest; several where that changes along the curve
-- query_heads       on this GPU
-- batch             sequences
-- contexts          tokens of each sequence, the new ones with them, ascending
-- seconds           at each of them, seconds
create table seeds.mla_curves (
    phase varchar not null,
    gpu varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    model varchar not null,
    format varchar not null,
    kv_format varchar not null,
    kernel varchar not null,
    query_heads bigint not null,
    batch bigint not null,
    contexts bigint[] not null,
    seconds double[] not null
);
