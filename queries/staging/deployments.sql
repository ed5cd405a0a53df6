-- One row per run whose environment the bandwidth model knows, with all that the
-- step macros need: any row of the run can ask them.
--
-- Drafts have no row, nor have runs on a GPU, model or format that the seeds lack.
-- Sizes are of one GPU. "Plain" weights stay in 16 bits, "packed" ones are in the
-- weight format. Rates are what is reached, but for hbm_bytes_per_s, the peak.
-- run_id                   the replay
-- gpu                      name in the catalogue
-- model                    name in the catalogue
-- tensor_parallel_size     GPUs that share the model
-- expert_parallel_size     GPUs that share out whole experts; 1: each expert is cut
-- data_parallel_size       replicas of all but the experts
-- weight_format            name in seeds.formats
-- compute_format           what multiplies the packed weights: 'bf16', 'fp8' or 'fp4'
-- kv_format                name in seeds.formats
-- engine, engine_version   that the constants were looked up for
-- max_num_seqs             sequences that the engine runs at once
-- max_num_batched_tokens   tokens of one engine step
-- max_context_tokens       longest context of the model; null: its config does not say
-- layers                   transformer layers
-- attention_layers         of these, with a KV cache
-- expert_layers            of these, with experts
-- hidden                   hidden size
-- query_heads              attention heads
-- kv_heads                 key and value heads
-- head_dim                 size of one head
-- is_mla                   the KV cache is latent (MLA)
-- experts                  experts of a layer
-- experts_per_token        experts that one token goes through
-- expert_tokens_ratio      replicas whose tokens meet in one set of experts
-- window_tokens            sliding window, tokens; null for none
-- windowed_layers          layers that have it
-- plain_bytes              16-bit weights that each step streams, bytes
-- packed_bytes             weights in the weight format that each step streams, bytes
-- expert_bytes             one expert of every layer, bytes
-- embedding_bytes          what is kept and not streamed, bytes
-- kv_layer_token_bytes     KV cache of one token in one layer, bytes
-- state_bytes              state of constant size that a sequence keeps in layers without a cache, bytes
-- head_params              parameters of the output head
-- plain_params             16-bit parameters that multiply one token, head aside
-- packed_params            parameters in the weight format that multiply one token, experts aside
-- expert_params            parameters of the experts that multiply one token
-- pair_flop                FLOP of one query-key pair in one layer
-- memory_bytes             memory of the GPU, bytes
-- hbm_bytes_per_s          peak memory bandwidth, bytes/s
-- plain_bytes_per_s        reached when streaming 16-bit weights, bytes/s
-- packed_bytes_per_s       reached when streaming packed weights, bytes/s
-- expert_bytes_per_s       reached when streaming experts, bytes/s
-- kv_bytes_per_s           reached when reading the KV cache, bytes/s
-- peak_bf16_flop_per_s     peak of the GPU in BF16, FLOP/s
-- peak_flop_per_s          peak of the GPU in the compute format, FLOP/s
-- plain_flop_per_s         reached with 16-bit weights, FLOP/s
-- packed_flop_per_s        reached with packed weights, FLOP/s
-- expert_flop_per_s        reached with experts, FLOP/s
-- attention_flop_per_s     reached by the attention of prefill, FLOP/s
-- roof_hardness            1: streaming and arithmetic add up; infinity: the longer counts
-- layer_s                  fixed time of a layer, seconds
-- expert_layer_s           the same for routing of a layer with experts, by the law, seconds
-- expert_first_s           smallest measured time of a layer's experts, seconds; null without a table
-- expert_bends             where ln(time) over ln(tokens) bends, and by how much
-- expert_overlap_s         of a table's time, what layer_s holds already, seconds
-- expert_table_ratio       share of the table in a mean of table and law
-- experts_from             which table the experts' times are from, or 'law'; null without experts
-- step_s                   host time of a step, seconds
-- sequence_s               host time of each decoding sequence in a step, seconds
-- prefill_share            share of others' prefill that a decoding stream sees
-- request_s                of a request before and after its steps: HTTP, tokenizing, first scheduling, seconds
-- bunch_ratio              share of a closed loop's clients whose prompts are before one's own
-- all_reduce_gpus          GPUs of one all-reduce
-- all_reduce_first_s       time of the smallest measured all-reduce, seconds
-- all_reduce_bends         where ln(time) over ln(bytes) bends, and by how much
-- memory_utilization       share of memory that the engine takes
-- other_memory_bytes       what it keeps beside weights and KV cache, bytes
-- band_ratio               half the 90 % band: measured times lie between predicted / (1 + it) and predicted * (1 + it)
-- calibration              which calibration constants are from; null: none
-- d                        all of it as one value, for the macros
select
    runs.run_id,
    deployment.*
from staging.runs
cross join lateral macros.deployment(
    runs.gpu, runs.catalog_model, runs.tensor_parallel_size, runs.quantization, runs.kv_cache_dtype,
    runs.engine, coalesce(runs.engine_version, runs.server_version),
    runs.max_num_seqs, runs.max_num_batched_tokens
) as deployment
where deployment.query_heads % deployment.tensor_parallel_size = 0
