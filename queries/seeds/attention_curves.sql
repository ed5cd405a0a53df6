-- One row per measured curve: attention of one layer on one GPU, against the context.
-- A thinned extract of the tables of NVIDIA's aiconfigurator (Apache-2.0); NOTICE in this folder says how it was thinned.
-- staging.attention_times has it point by point, with what was ingested.
-- group: kernels
-- phase             decode: one new token a sequence; prefill: the whole context is new
-- gpu               name in seeds.gpus
-- engine            that the kernels are of
-- engine_version    its version
-- kv_format         of the KV cache, name in seeds.formats
-- kernel            which implementation was the fastest; several where that changes along the curve
-- query_heads       on this GPU
-- kv_heads          on this GPU
-- head_dim          elements of a head
-- window_tokens     that a token looks back; null: the whole context
-- batch             sequences
-- contexts          tokens of each sequence, the new ones with them, ascending
-- seconds           at each of them, seconds
create table seeds.attention_curves (
    phase varchar not null,
    gpu varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    kv_format varchar not null,
    kernel varchar not null,
    query_heads bigint not null,
    kv_heads bigint not null,
    head_dim bigint not null,
    window_tokens bigint,
    batch bigint not null,
    contexts bigint[] not null,
    seconds double[] not null
);
