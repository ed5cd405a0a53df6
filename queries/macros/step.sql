-- Seconds of one engine step, term by term. `d` is a row of macros.deployment.
--   decode          tokens that are decoded: one for each running sequence
--   context         sum of their contexts, tokens
--   windowed        the same with each context cut at d.window_tokens; context where there is no window
--   prefill         uncached prompt tokens computed in the step
--   chunks          sequences that these belong to
--   pairs           query-key pairs of the prefill: sum of s*p + s*s/2 for s new tokens after p earlier ones
-- group: model

-- Experts of one layer that a step of so many tokens hits, if each token chooses its own with equal chances: the occupancy law
-- E (1 - (1 - k/E)^n).
--   select macros.distinct_experts(128, 8, 32)
create macro macros.distinct_experts(experts, experts_per_token, tokens) as
    case when experts = 0 then 0e0
        else experts * (1 - pow(1 - experts_per_token::double / experts, tokens))
    end;

-- Experts of one layer that a step of so many tokens hits on the GPU that has most of them, because the step waits for it. With whole
-- experts spread over d.expert_parallel_size GPUs, the number on one GPU scatters like balls in bins; the largest of n normal values
-- lies about sqrt(2 ln n) deviations above the mean (extreme value theory).
--   select macros.hit_experts(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.hit_experts(d, tokens) as
    macros.busiest_share(
        macros.distinct_experts(d.experts, d.experts_per_token, tokens * d.expert_tokens_ratio),
        d.experts, d.expert_parallel_size
    );

-- Of `hit` experts out of `experts`, how many lie on the GPU that has most, if they scatter over so many GPUs by chance. The lambda plans
-- its arguments once, however long they are, as in macros.curve_s.
--   select macros.busiest_share(100, 128, 8)
create macro macros.busiest_share(hit, experts, gpus) as
    list_transform(
        [{'hit': hit::double, 'experts': experts, 'gpus': gpus}],
        lambda asked: case
            when asked.gpus = 1 or asked.experts = 0 then asked.hit
            else least(
                asked.hit, asked.experts::double / asked.gpus,
                asked.hit / asked.gpus + sqrt(2 * ln(asked.gpus) * greatest(0e0, asked.hit / asked.gpus * (1 - asked.hit / asked.experts)))
            )
        end
    )[1];

-- Seconds that streaming the weights of a step takes: all but the experts.
--   select macros.weights_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.weights_s(d, tokens) as
    d.plain_bytes / d.plain_bytes_per_s + d.packed_bytes / d.packed_bytes_per_s;

-- Seconds of arithmetic alone: 2 FLOP per weight and token. Prefill needs the output head once per sequence, decoding once per token.
-- Beside others that decode a prompt is slower: steady prefill brings a GPU to its limit of power, and its clock falls.
--   select macros.multiply_s(d, 32, 0, 0) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.multiply_s(d, decode, prefill, chunks) as
    2 * (decode + prefill * (1 + (d.mixed_prompt_ratio - 1) * least(1e0, decode))) * (d.plain_params / d.plain_flop_per_s + d.packed_params / d.packed_flop_per_s)
    + 2 * (decode + chunks) * d.head_params / d.plain_flop_per_s;

-- Weights and arithmetic under a soft roofline, the p-norm of both times with p = hardness: 1 is their sum (no overlap), and the larger p
-- is, the nearer it is to the larger of the two, the roofline of Williams, Waterman and Patterson (2009). Each argument is named once:
-- DuckDB writes an argument out, however long, wherever a macro names it.
--   select macros.roof_s(4e-3, 1e-3, 2)
create macro macros.roof_s(weights_s, multiply_s, hardness) as
    pow(pow(weights_s, hardness) + pow(multiply_s, hardness), 1 / hardness);

-- Seconds of streaming the weights and of multiplying them, under the soft roofline of macros.roof_s; the experts are left out.
--   select macros.gemm_s(d, 32, 512, 1) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.gemm_s(d, decode, prefill, chunks) as
    macros.roof_s(
        macros.weights_s(d, decode + prefill),
        macros.multiply_s(d, decode, prefill, chunks),
        d.roof_hardness
    );

-- Seconds that arithmetic adds to the streaming of the weights.
--   select macros.arithmetic_s(d, 32, 512, 1) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.arithmetic_s(d, decode, prefill, chunks) as
    macros.gemm_s(d, decode, prefill, chunks) - macros.weights_s(d, decode + prefill);

-- Experts of one layer that a GPU streams by the law. A measured table of whole experts on several GPUs is of the busiest one; the law that
-- it is averaged with takes the mean then, so that the busiest counts once.
--   select macros.streamed_experts(d, 32)
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.streamed_experts(d, tokens) as
    case when d.expert_table_ratio = 0 then macros.hit_experts(d, tokens)
        else macros.distinct_experts(d.experts, d.experts_per_token, tokens * d.expert_tokens_ratio) / d.expert_parallel_size
    end;

-- The experts of all layers by the law: those that are hit are streamed, every token is
-- multiplied by its own, and routing takes a fixed time.
--   select macros.experts_law_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.experts_law_s(d, tokens) as
    macros.roof_s(
        d.expert_bytes * macros.streamed_experts(d, tokens) / d.expert_bytes_per_s,
        2 * tokens * d.expert_params / d.expert_flop_per_s,
        d.roof_hardness
    )
    + d.expert_layers * d.expert_layer_s;

-- Seconds of the experts of all layers from measured kernels. What layer_s holds for a dense layer's MLP is in them already.
--   select macros.experts_table_s(d, 32)
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.experts_table_s(d, tokens) as
    d.expert_layers * greatest(
        0e0,
        macros.curve_s(d.expert_first_s, d.expert_line, tokens * d.expert_tokens_ratio) - d.expert_overlap_s
    );

-- Experts, routing with them: law and table in the shares of d.expert_table_ratio, which is 0 without a table.
--   select macros.experts_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'quantization': 'fp8'})
create macro macros.experts_s(d, tokens) as
    case
        when d.experts = 0 or d.experts > 0 and tokens = 0 then 0e0
        else (1 - d.expert_table_ratio) * macros.experts_law_s(d, tokens)
            + case when d.expert_table_ratio = 0 then 0e0 else d.expert_table_ratio * macros.experts_table_s(d, tokens) end
    end;

-- The same of a step with prompts beside sequences that decode: what the prompts add takes so much longer there.
--   select macros.experts_beside_s(d, 32, 1000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'qwen3-30b-a3b', 'engine_version': '0.26.0'})
create macro macros.experts_beside_s(d, decode, prefill) as
    macros.experts_s(d, decode)
    + (1 + (d.mixed_prompt_ratio - 1) * least(1e0, decode)) * (macros.experts_s(d, decode + prefill) - macros.experts_s(d, decode));

-- Bytes of keys and values that one GPU reads in a step, without those of indexers.
--   select macros.attended_bytes(d, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.attended_bytes(d, context, windowed) as
    d.kv_layer_token_bytes
    * ((d.attention_layers - d.windowed_layers) * context + d.windowed_layers * windowed);

-- Bytes of the keys that the indexers of sparse attention read in a step: those of the whole context.
--   select macros.index_bytes(d, 32 * 2000) from macros.deployment({'gpu': 'H200', 'catalog_model': 'deepseek-v3.2', 'tensor_parallel_size': 8})
create macro macros.index_bytes(d, context) as
    d.index_layers * d.index_token_bytes * context;

-- Bytes of KV cache that one GPU reads in a step.
--   select macros.kv_bytes(d, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_bytes(d, context, windowed) as
    macros.attended_bytes(d, context, windowed) + macros.index_bytes(d, context);

-- Seconds that reading the KV cache takes in a step, with the context of all running sequences together, tokens.
--   select macros.kv_s(d, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.kv_s(d, context, windowed) as
    macros.attended_bytes(d, context, windowed) / d.kv_bytes_per_s
    + macros.index_bytes(d, context) / d.index_bytes_per_s;

-- Layers that keep a state of constant size instead of a cache read and write it each step.
--   select macros.state_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'jamba-v0.1', 'tensor_parallel_size': 2})
create macro macros.state_s(d, decode) as
    2 * decode * d.state_bytes / d.kv_bytes_per_s;

-- Two all-reduces a layer, of one 16-bit hidden state a token, and in some models one of a few bytes. Replicas that share out their experts
-- exchange tokens twice in each layer of experts instead, where such exchanges were measured.
--   select macros.allreduce_s(d, 32)
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-70b', 'tensor_parallel_size': 4})
create macro macros.allreduce_s(d, tokens) as
    case when d.all_reduce_gpus = 1 or d.all_reduce_gpus > 1 and tokens = 0 then 0e0
        else 2 * d.all_reduce_layers
            * macros.curve_s(d.all_reduce_first_s, d.all_reduce_line, tokens * d.all_reduce_token_bytes)
            + d.layers * d.norm_reduce_s
    end;

-- The fixed time of a layer's kernels, which no bandwidth removes.
--   select macros.layers_s(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.layers_s(d) as
    d.layers * d.layer_s;

-- Host time that is added to a step: scheduling, sampling, detokenizing. What asynchronous scheduling hides is d.submit_s and d.launch_s.
--   select macros.host_s(d, 32) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.host_s(d, decode) as
    d.step_s + decode * d.sequence_s;

-- FLOP of the attention of prefill; a windowed layer looks back no further than its window.
--   select macros.prefill_attention_flop(d, 2000, macros.prefill_pairs(2000, 0))
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prefill_attention_flop(d, prefill, pairs) as
    d.pair_flop
    * (
        (d.attention_layers - d.windowed_layers) * pairs
        + d.windowed_layers * least(pairs, coalesce(prefill * d.window_tokens::double, pairs))
    );

-- FLOP of the indexers of sparse attention for so many query-key pairs.
--   select macros.index_flop(d, macros.prefill_pairs(2000, 0))
--   from macros.deployment({'gpu': 'H200', 'catalog_model': 'deepseek-v3.2', 'tensor_parallel_size': 8})
create macro macros.index_flop(d, pairs) as
    d.index_layers * d.index_pair_flop * pairs;

-- Seconds of the attention of prefill, indexers with it.
--   select macros.prefill_attention_s(d, 2000, macros.prefill_pairs(2000, 0))
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.prefill_attention_s(d, prefill, pairs) as
    macros.prefill_attention_flop(d, prefill, pairs) / d.attention_flop_per_s
    + macros.index_flop(d, pairs) / d.index_flop_per_s;

-- Seconds of a step that only decodes: the sum of its terms.
--   select macros.decode_s(d, 32, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.decode_s(d, decode, context, windowed) as
    macros.terms_sum(
        d, decode, macros.gemm_s(d, decode, 0, 0), macros.experts_s(d, decode), macros.kv_s(d, context, windowed), macros.allreduce_s(d, decode)
    );

-- The same, for who has the four dear terms already. The host puts the next step together while the GPU works: a step takes the longer.
--   select macros.terms_sum(d, 32, 8e-3, 0, 1e-3, 0) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.terms_sum(d, decode, gemm_s, experts_s, kv_s, allreduce_s) as
    greatest(
        gemm_s + experts_s + kv_s + macros.state_s(d, decode) + allreduce_s + macros.layers_s(d) + macros.host_s(d, decode),
        d.submit_s
    );

-- Seconds of any step, with the prefill tokens of so many chunks and their query-key pairs. With a prompt in it, each layer is launched by
-- the host, which may take longer than the layer does.
--   select macros.engine_step_s(d, 32, 32 * 2000, 32 * 2000, 512, 1, macros.prefill_pairs(512, 0))
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.engine_step_s(d, decode, context, windowed, prefill, chunks, pairs) as
    greatest(
        macros.gemm_s(d, decode, prefill, chunks)
        + macros.experts_beside_s(d, decode, prefill)
        + macros.kv_s(d, context, windowed)
        + macros.state_s(d, decode)
        + macros.allreduce_s(d, decode + prefill)
        + macros.layers_s(d)
        + macros.host_s(d, decode)
        + macros.prefill_attention_s(d, prefill, pairs)
        + chunks * d.chunk_s,
        macros.launched_step_s(d, decode + prefill)
    );

-- The tokens of the largest step that vLLM captures as a CUDA graph: the host launches a larger one layer by layer.
--   select macros.graph_tokens(d) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.graph_tokens(d) as
    least(512, 2 * d.max_num_seqs);

-- Seconds that the host takes to launch a step of so many tokens, which the GPU's work hides where that takes longer.
--   select macros.launched_step_s(d, 2048) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.launched_step_s(d, tokens) as
    case when tokens > macros.graph_tokens(d) then greatest(d.launch_s, d.submit_s) else d.submit_s end;

-- Seconds between two tokens that a client sees at least, however fast the engine is: one thread of the API server sends the tokens of
-- `batch` requests, and takes in as many as come in the meantime.
--   select macros.round_s(d, 256, 128, 256) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.round_s(d, batch, input, output) as
    macros.sends_s(d, batch) + batch * macros.admits_s(d, input) / greatest(1, output);

-- Seconds that API servers take to take in a request with so many prompt tokens; d.api_servers of them share the requests of a replica.
--   select macros.admits_s(d, 1000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.admits_s(d, input) as
    (d.admission_s + d.admission_token_s * input) / d.api_servers;

-- Seconds that this thread takes to send the tokens of one step of `batch` requests.
--   select macros.sends_s(d, 256) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.sends_s(d, batch) as
    d.send_s + batch / d.api_servers * (d.send_token_s + greatest(0e0, batch / d.api_servers - 1) * d.send_crowd_s);

-- Seconds by which a request that comes while others decode misses the next step: asynchronous scheduling puts that together while one works.
--   select macros.missed_s(d, 10e-3) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.missed_s(d, step_s) as
    case when d.submit_s > 0 then greatest(0e0, step_s - d.submit_s) else 0e0 end;
