-- One row per measured curve: all experts of one layer on one GPU, against the tokens of a step.
-- A thinned extract of the tables of NVIDIA's aiconfigurator (Apache-2.0); NOTICE in this folder says how it was thinned.
-- staging.expert_times has it point by point, with what was ingested.
-- group: kernels
-- gpu                     name in seeds.gpus
-- engine                  that the kernels are of
-- engine_version          its version
-- format                  of the weights, name in seeds.formats
-- kernel                  which implementation was the fastest; several where that changes along the curve
-- router                  how tokens spread over experts: balanced, or as a power law
-- hidden                  size of a hidden state
-- intermediate            of one expert, before it is shared by tensor_parallel_size
-- experts                 of the layer
-- experts_per_token       that each token is sent to
-- tensor_parallel_size    GPUs that share each expert
-- expert_parallel_size    GPUs that share out the experts
-- tokens                  of the step, ascending
-- seconds                 at each of them, seconds
create table seeds.expert_curves (
    gpu varchar not null,
    engine varchar not null,
    engine_version varchar not null,
    format varchar not null,
    kernel varchar not null,
    router varchar not null,
    hidden bigint not null,
    intermediate bigint not null,
    experts bigint not null,
    experts_per_token bigint not null,
    tensor_parallel_size bigint not null,
    expert_parallel_size bigint not null,
    tokens bigint[] not null,
    seconds double[] not null
);
