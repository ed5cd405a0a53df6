-- One row per measured curve: multiplying by an n x k weight on one GPU, against the tokens of a step.
-- A thinned extract of the tables of NVIDIA's aiconfigurator (Apache-2.0); NOTICE in this folder says how it was thinned.
-- staging.gemm_times has it point by point, with what was ingested.
-- group: kernels
-- gpu               name in seeds.gpus
-- engine            that the kernels are of
-- engine_version    its version
-- format            of the multiplication, name in seeds.formats
-- kernel            which implementation was the fastest; several where that changes along the curve
-- n, k              the weight's sizes, out and in
-- tokens            of the step, ascending
-- seconds           at each of them, seconds
create table seeds.gemm_curves (
    gpu varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    format varchar not null,
    kernel varchar not null,
    n bigint not null,
    k bigint not null,
    tokens bigint[] not null,
    seconds double[] not null
);
