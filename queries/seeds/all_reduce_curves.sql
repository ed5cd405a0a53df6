-- One row per measured curve: one all-reduce between GPUs, against the size of the message.
-- A thinned extract of the tables of NVIDIA's aiconfigurator (Apache-2.0); NOTICE in this folder says how it was thinned.
-- staging.all_reduce_times has it point by point, with what was ingested.
-- group: kernels
-- gpu               name in seeds.gpus
-- engine            that the kernels are of
-- engine_version    its version
-- kernel            which implementation
-- gpus              that take part
-- is_graph          under CUDA graphs; else launched one by one
-- message_bytes     that each GPU holds, ascending
-- seconds           at each of them, seconds
create table seeds.all_reduce_curves (
    gpu varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    kernel varchar not null,
    gpus bigint not null,
    is_graph boolean not null,
    message_bytes bigint[] not null,
    seconds double[] not null
);
