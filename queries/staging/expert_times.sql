-- One row per measured time of all experts of one layer on one GPU, built in or ingested.
-- macros.expert_curve finds the nearest ones to a model's experts.
-- group: kernels
-- source                  'built in', or the source's name
-- gpu                     name in seeds.gpus; of a GPU that is not there, as its file says it
-- engine                  that the kernels are of
-- engine_version          its version
-- format                  of the weights, name in seeds.formats
-- kernel                  which implementation was the fastest; several where that changes with the tokens
-- router                  how tokens spread over experts: balanced, power_law_1.01
-- hidden                  size of a hidden state
-- intermediate            of one expert, before it is shared by tensor_parallel_size
-- experts                 of the layer
-- experts_per_token       that each token is sent to
-- tensor_parallel_size    GPUs that share each expert
-- expert_parallel_size    GPUs that share out the experts
-- tokens                  of the step
-- seconds                 measured, seconds; of several measurements the lower median
-- is_doubtful             slower than 16 bits by a quarter at 64 tokens: the curve is not used
select
    source,
    gpu,
    engine,
    engine_version,
    format,
    kernel,
    router,
    hidden,
    intermediate,
    experts,
    experts_per_token,
    tensor_parallel_size,
    expert_parallel_size,
    unnest(tokens) as tokens,
    unnest(seconds) as seconds,
    is_doubtful
from macros.expert_curves()
