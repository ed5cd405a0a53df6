-- One row per run whose environment the bandwidth model knows, with all that the
-- step macros need: any row of the run can ask them.
--
-- Drafts have no row, nor have runs on a GPU, model or format that the seeds lack.
-- Sizes are of one GPU. "Plain" weights stay in 16 bits, "packed" ones are in the
-- weight format. Rates are what is reached, but for hbm_bytes_per_s, the peak.
-- run_id                   the replay
-- gpu                      name in seeds.gpus
-- model                    name in seeds.models
-- tensor_parallel_size     GPUs that share the model
-- weight_format            name in seeds.formats
-- kv_format                name in seeds.formats
-- engine, engine_version   that the constants were looked up for
-- max_num_seqs             sequences that the engine runs at once
-- max_num_batched_tokens   tokens of one engine step
-- layers                   transformer layers
-- expert_layers            of these, with experts
-- hidden                   hidden size
-- query_heads              attention heads
-- head_dim                 size of one head
-- experts                  experts of a layer
-- experts_per_token        experts that one token goes through
-- window_tokens            sliding window, tokens; null for none
-- windowed_layers          layers that have it
-- plain_bytes              16-bit weights that each step streams, bytes
-- packed_bytes             weights in the weight format that each step streams, bytes
-- expert_bytes             one expert of every layer, bytes
-- embedding_bytes          what is kept and not streamed, bytes
-- kv_layer_token_bytes     KV cache of one token in one layer, bytes
-- head_params              parameters of the output head
-- plain_params             16-bit parameters that multiply one token, head aside
-- packed_params            parameters in the weight format that multiply one token
-- memory_bytes             memory of the GPU, bytes
-- hbm_bytes_per_s          peak memory bandwidth, bytes/s
-- plain_bytes_per_s        reached when streaming 16-bit weights, bytes/s
-- packed_bytes_per_s       reached when streaming packed weights, bytes/s
-- kv_bytes_per_s           reached when reading the KV cache, bytes/s
-- plain_flop_per_s         reached with 16-bit weights, FLOP/s
-- packed_flop_per_s        reached with packed weights, FLOP/s
-- roof_hardness            1: streaming and arithmetic add up; infinity: the longer counts
-- layer_s                  fixed time of a layer, seconds
-- expert_layer_s           the same for routing of a layer with experts, seconds
-- step_s                   host time of a step, seconds
-- sequence_s               host time of each decoding sequence in a step, seconds
-- prefill_share            share of others' prefill that a decoding stream sees
-- all_reduce_first_s       time of the smallest measured all-reduce, seconds
-- all_reduce_bends         where ln(time) over ln(bytes) bends, and by how much
-- memory_utilization       share of memory that the engine takes
-- other_memory_bytes       what it keeps beside weights and KV cache, bytes
select
    runs.run_id,
    deployment.*
from staging.runs
cross join lateral macros.deployment(
    runs.gpu, runs.catalog_model, runs.tensor_parallel_size, runs.quantization, runs.kv_cache_dtype,
    runs.engine, coalesce(runs.engine_version, runs.server_version),
    runs.max_num_seqs, runs.max_num_batched_tokens
) as deployment
