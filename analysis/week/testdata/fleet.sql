-- Two hours of two replicas of a toy, looked at every ten minutes from 10:00 UTC on.
--
-- The toy, by hand: a GPU of 1 TB/s and 1 PFLOP/s that reaches half of its bandwidth on weights and all of it on the cache. One layer of 100 M
-- parameters and a head of 100 M: 0.4 ms of bytes and 0.8 ms of time a step, 0.4 us of arithmetic a token. KV is 1 ns a token of context, a layer 1 ms, the
-- host 2 ms and 0.5 ms a sequence. The band is 20 %.
--
--           runs  context of each                            gaps in 10 min  mean gap 10:00, 11:00
-- replica a   10  1 % of 625,000 * 16 = 10 M tokens: 10,000            6,000  12 ms, 15 ms
-- replica b   30  3 %: 10,000                                         18,000  20 ms, 23 ms
--
-- A request has a prompt of 9,000 tokens, 8,000 of them cached, and an answer of 2,000. From 11:00 on requests wait at b: 1 1, 5, 9 9, 13 in its
-- quarters. One of the two GPUs runs at 1,215 MHz from 11:00 on.
delete from seeds.gpus;
delete from seeds.models;
delete from seeds.constants;
insert into seeds.gpus values ('toy', null, 80e9, 1e12, 1e15, null, null, 'nvlink', 'here');
insert into seeds.model_configs values ('toy', null, '{"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 1000, "num_attention_heads": 1, "head_dim": 250, "intermediate_size": 33000, "vocab_size": 100000}', 3e8, false, 'here');
insert into seeds.models by name select model, unnest(spec), published_params, is_exact, source
from (select *, macros.model_config(config) as spec from seeds.model_configs where model = 'toy');
insert into seeds.constants (name, engine, engine_version, gpu, format, value, unit, source)
select name, '*', '*', '*', '*', value, '1', 'here'
from (values
    ('weight_bandwidth_ratio', 0.5), ('kv_bandwidth_ratio', 1), ('compute_ratio', 1), ('roof_hardness', 1),
    ('layer_s', 1e-3), ('expert_layer_s', 0), ('step_s', 2e-3), ('sequence_s', 0.5e-3), ('prefill_share', 1),
    ('pcie_all_reduce_ratio', 1), ('memory_utilization', 0.9), ('other_memory_bytes', 0), ('max_num_seqs', 256), ('max_num_batched_tokens', 8192),
    ('expert_bandwidth_ratio', 1), ('attention_compute_ratio', 1), ('gemm_overhead_s', 0), ('mla_layer_s', 0), ('band_ratio', 0.2),
    ('request_s', 0), ('request_token_s', 0), ('prompt_ratio', 1), ('bunch_ratio', 0)
) as constant (name, value);
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'fleet', 'metrics', 'prometheus-api', 'p', 'a', 1, 1, 1, 0, timestamptz '2026-11-16 10:00:00+00', true, 4, now());
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 1, look, look * 600 * 1000000000::bigint, name, labels, first_hour * least(look, 6) + second_hour * greatest(look - 6, 0)
from (values
    ('vllm:inter_token_latency_seconds_count', 'instance="a"', 6000, 6000), ('vllm:inter_token_latency_seconds_sum', 'instance="a"', 72, 90),
    ('vllm:inter_token_latency_seconds_count', 'instance="b"', 18000, 18000), ('vllm:inter_token_latency_seconds_sum', 'instance="b"', 360, 414),
    ('vllm:request_success_total', 'finished_reason="length",instance="a"', 3, 3), ('vllm:request_success_total', 'finished_reason="length",instance="b"', 9, 9),
    ('vllm:prompt_tokens_total', 'instance="a"', 27000, 27000), ('vllm:prompt_tokens_total', 'instance="b"', 81000, 81000),
    ('vllm:prefix_cache_hits_total', 'instance="a"', 24000, 24000), ('vllm:prefix_cache_hits_total', 'instance="b"', 72000, 72000),
    ('vllm:generation_tokens_total', 'instance="a"', 6000, 6000), ('vllm:generation_tokens_total', 'instance="b"', 18000, 18000)
) as counters (name, labels, first_hour, second_hour)
cross join range(13) as looks (look);
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 1, look, look * 600 * 1000000000::bigint, name, labels, said[look + 1]
from (values
    ('vllm:num_requests_running', 'instance="a"', [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10]),
    ('vllm:num_requests_running', 'instance="b"', [30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30]),
    ('vllm:kv_cache_usage_perc', 'instance="a"', [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]),
    ('vllm:kv_cache_usage_perc', 'instance="b"', [0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03]),
    ('vllm:cache_config_info', 'block_size="16",instance="a",num_gpu_blocks="625000"', [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
    ('vllm:num_requests_waiting', 'instance="b"', [0, 0, 0, 0, 0, 0, 1, 1, 5, 9, 9, 13]),
    ('DCGM_FI_DEV_SM_CLOCK', 'Hostname="h",gpu="0",instance="d"', [1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980]),
    ('DCGM_FI_DEV_SM_CLOCK', 'Hostname="h",gpu="1",instance="d"', [1980, 1980, 1980, 1980, 1980, 1980, 1215, 1215, 1215, 1215, 1215, 1215])
) as gauges (name, labels, said)
cross join range(12) as looks (look);
