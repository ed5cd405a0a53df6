-- A warehouse with a little of everything: a trace, two runs of it on an H100 (the second failed in part), what their server and its GPU said, a
-- file of metrics, a profile of kernels, another tool's results.
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values
    (1, 'trace', 'arrivals', 'azure', 'trace.csv', 'aa', 1000, 61, 60, 1, timestamptz '2026-01-01 00:00:00+00', true, 'datetime', 'UTC', 16, 1, timestamptz '2026-01-02 00:00:00+00'),
    (2, 'run of one', 'run', 'run', 'runs/one', 'bb', 1, 1, 1, 0, null, false, 's', null, null, 1, timestamptz '2026-01-02 00:00:00+00'),
    (3, 'run of two', 'run', 'run', 'runs/two', 'cc', 1, 1, 1, 0, null, false, 's', null, null, 1, timestamptz '2026-01-02 00:00:00+00'),
    (4, 'engine', 'metrics', 'prometheus', 'engine.prom', 'dd', 1, 1, 1, 0, timestamptz '2026-01-01 00:00:00+00', true, 'ms', null, null, 1, timestamptz '2026-01-02 00:00:00+00'),
    (5, 'profile', 'kernels', 'nsys', 'profile.csv', 'ee', 1, 1, 1, 0, null, false, null, null, null, 1, timestamptz '2026-01-02 00:00:00+00'),
    (6, 'results', 'results', 'vllm-bench-serve', 'results.json', 'ff', 1, 1, 1, 0, null, false, 's', null, null, 1, timestamptz '2026-01-02 00:00:00+00');
insert into raw.rejects values (1, 7, 'ContextTokens', 'not an integer');
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, session_id, turn, class, blocks)
select 1, seq + 2, seq * 500000000, 500 + seq * 37 % 900, 16 + seq * 13 % 48, 's' || seq // 2, seq % 2, case when seq % 10 = 0 then 'long' else 'short' end, [seq // 2, 1000 + seq]::ubigint[]
from range(60) as numbers (seq);
insert into raw.block_distances values (1, 1, 100), (1, null, 750);

insert into raw.runs
select run_id, source_id, json_object(
    'schema', 'tidemark.run/1', 'run_id', run_id, 'name', run_id, 'started_at', started_at, 'ended_at', started_at, 'status', 'done',
    'target', json_object('base_url', 'http://s:8000', 'endpoint', '/v1/completions', 'model', 'llama'),
    'settings', json_object('seed', 1, 'max_lateness_s', 0.01, 'mode', 'open'),
    'plan', json_object('source', 'trace', 'source_sha256', 'aa', 'fingerprint', 'ab', 'seed', 1, 'requests', 60, 'scaling', json_object('speed', 1, 'thin', 1, 'thicken', 1)),
    'environment', json_object('gpu', 'H100', 'catalog_model', 'llama-3.1-8b', 'tensor_parallel_size', 1, 'quantization', 'bf16', 'kv_cache_dtype', 'bf16', 'engine', 'vllm',
        'engine_version', '0.24.0', 'max_num_seqs', 256, 'max_num_batched_tokens', 8192),
    'environment_source', 'server', 'server', json_object('version', '0.24.0', 'is_simulated', false),
    'effective', json_object('max_num_seqs', 256, 'num_gpu_blocks', 27000),
    'slo', json_object('name', 'chat', 'objectives', [json_object('metric', 'ttft', 'percentile', 95, 'at_most', 0.2)]),
    'series', json_object('id', 'e', 'name', 'levels', 'hypothesis', 'none', 'variable', 'request_rate', 'value', source_id::varchar, 'row', source_id, 'repeat', 0),
    'result', json_object('is_valid', true, 'duration_s', 30, 'client', json_object('lag_s', json_object('p50', 1e-4, 'p99', 6e-4, 'max', 4e-3)))
)
from (values ('one', 2, '2026-01-02T00:00:00Z'), ('two', 3, '2026-01-02T01:00:00Z')) as runs (run_id, source_id, started_at);
insert into raw.requests (run_id, seq, session_id, turn, class, is_warm_up, input_tokens, output_tokens, shared_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, held_s,
    input_tokens_reported, output_tokens_reported, cached_tokens_reported, http_status, finish_reason, failure, chunk_offsets_us, chunk_tokens, reads)
select
    run_id, seq, 's' || seq // 2, seq % 2, case when seq % 10 = 0 then 'long' else 'short' end, seq = 0, input_tokens, output_tokens, 16, seq / 2, sent_s,
    case when not is_failed then sent_s + 0.05 end, case when not is_failed then sent_s + 0.05 + 8e-3 * (output_tokens - 1) end, sent_s + 0.05 + 8e-3 * output_tokens, 0,
    input_tokens, case when not is_failed then output_tokens end, 16, case when is_failed then 503 else 200 end, case when not is_failed then 'length' end,
    case when is_failed then 'http_503' end,
    case when not is_failed then list_transform(range(output_tokens), lambda place: (50000 + 8000 * place)::integer) end,
    case when not is_failed then list_transform(range(output_tokens), lambda place: 1) end, output_tokens
from (
    select
        run_id,
        seq,
        500 + seq * 37 % 900 as input_tokens,
        16 + seq * 13 % 48 as output_tokens,
        seq / 2 + 1e-3 as sent_s,
        run_id = 'two' and seq % 7 = 6 as is_failed
    from (values ('one'), ('two')) as runs (run_id)
    cross join range(60) as numbers (seq)
) as planned;
-- Steps of run 'one', by an engine's own clock: each fourth computes a prompt.
insert into raw.step_sources values (4, null, false, false, false, 0);
insert into raw.step_joins values ('one', 4, 0, 0, 30, 0, 0);
insert into raw.steps by name
select
    4 as source_id, '' as engine, 0 as rank, seq, seq * 9000000 + 1 as at_ns, case when seq % 4 = 0 then 12e-3 else 7e-3 + 20e-6 * (1 + seq % 7) end as elapsed_s,
    (seq % 4 = 0)::integer as prefill_requests, (seq % 4 = 0)::integer * (300 + seq % 50) as prefill_tokens, 0 as prefill_kv_tokens, 1 + seq % 7 as decode_requests, 1 + seq % 7 as decode_tokens,
    (1 + seq % 7) * (600 + seq % 11 * 50) as decode_kv_tokens, 0 as queued_requests, 0.1 as kv_usage_ratio, false as is_dummy
from range(1, 400) as steps (seq);
insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
select run_id, at_s, 'server', 'http://s:8000/metrics', name, labels, at_s * slope
from (values ('one'), ('two')) as runs (run_id)
cross join range(0, 31) as looks (at_s)
cross join (values
    ('vllm:num_requests_running', '', 0.1e0), ('vllm:num_requests_waiting', '', 0e0), ('vllm:kv_cache_usage_perc', '', 0.01e0), ('vllm:generation_tokens_total', '', 80e0),
    ('vllm:prompt_tokens_total', '', 900e0), ('vllm:iteration_tokens_total_count', '', 70e0), ('vllm:num_preemptions_total', '', 1e0), ('vllm:request_success_total', '', 2e0),
    ('vllm:request_queue_time_seconds_bucket', 'le="0.3"', 2e0), ('vllm:request_queue_time_seconds_bucket', 'le="+Inf"', 2e0),
    ('DCGM_FI_DEV_POWER_USAGE', 'gpu="0"', 10e0), ('DCGM_FI_DEV_SM_CLOCK', 'gpu="0"', 1000e0), ('DCGM_FI_PROF_DRAM_ACTIVE', 'gpu="0"', 0.01e0)
) as series (name, labels, slope);

insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 4, look, look * 1000000000, name, labels, look * slope
from range(5) as looks (look)
cross join (values
    ('vllm:num_requests_running', '', 2e0), ('vllm:num_preemptions_total', '', 1e0), ('vllm:generation_tokens_total', '', 100e0),
    ('vllm:time_to_first_token_seconds_bucket', 'le="0.5"', 3e0), ('vllm:time_to_first_token_seconds_bucket', 'le="+Inf"', 4e0),
    ('vllm:time_to_first_token_seconds_sum', '', 2e0), ('vllm:time_to_first_token_seconds_count', '', 4e0), ('DCGM_FI_DEV_SM_CLOCK', 'UUID="g"', 1000e0)
) as series (name, labels, slope);
insert into raw.kernels (source_id, seq, name, instances, total_s) values (5, 0, 'flash_fwd_splitkv_kernel', 4, 6e-3), (5, 1, 'nobody_knows', 1, 2e-3);
insert into raw.points by name
select 6 as source_id, point, 'vllm-bench-serve' as tool, 'closed' as load, 8 * (point + 1) as max_concurrency, 100 as requests, 100 as completed, 30 as duration_s, 64 as output_tokens_asked
from range(2) as points (point);
insert into raw.figures values (6, 0, 'tpot', 'mean', 'ms', 8), (6, 0, 'ttft', 'p99', 'ms', 60), (6, 1, 'tpot', 'mean', 'ms', 9);
insert into raw.result_requests by name
select 6 as source_id, 0 as point, seq, seq * 0.3e0 as started_s, 500 as input_tokens, 64 as output_tokens, 0.05e0 as ttft_s, 0.6e0 as e2e_s
from range(20) as numbers (seq);
insert into raw.capacities (search_id, source_id, header, runs, answer, last_event_at)
select
    name, 8 + place,
    '{"source": "one", "source_sha256": "ab", "window": {"from_s": 0, "until_s": 60, "requests": 60, "rate_per_s": 1}, "deployment": {"gpu": "H100"}, "slo": {"objectives": [{"metric": "ttft", "percentile": 99, "at_most": 1}]}, "started_at": "2026-11-2' || place || 'T12:00:00Z"}',
    '[{"number": 1, "id": "one", "scale": 2, "load_s": 60}]',
    '{"outcome": "found", "scale": 2, "scale_low": 1.9, "scale_high": 2.1, "binding_objective": "p99 ttft", "curve": [{"scale": 2, "missed_ratio": 0.01}]}', now()
from (values ('before', 0), ('after', 1)) as searches (name, place);

insert into raw.service_weeks (service, week, source_ids, file_sha256, document) values ('chat', '2026-W47', [1], 'ab', '{"sums": {"hours": 168, "missing_hours": 1, "requests": 40, "peak_rate_per_s": 0.5, "gpu_hours_paid": 336, "is_met": null, "sentence": "Buy no GPUs"}, "hours": [{"hour_start": "2026-11-15T23:00:00Z", "local_hour": "2026-11-16 00:00+01:00", "is_missing": false, "requests": 40, "rate_per_s": 0.0111, "peak_rate_per_s": 0.5, "needed_replicas": 1, "high_needed_replicas": 2, "paid_replicas": 2, "usual_requests": {"median": 3}}, {"hour_start": "2026-11-16T00:00:00Z", "local_hour": "2026-11-16 01:00+01:00", "is_missing": true, "paid_replicas": 2}]}');
insert into raw.service_files (service, file_sha256, path, content, source_ids, used) values ('chat', 'aa', 'old.yaml', 'service: chat', [], 1), ('chat', 'ab', 'chat.yaml', 'service: chat', [], 2);

insert into raw.decisions (decision_id, run_id, place, status, document) values
    ('first', 'one', 0, 'accepted', '{"reason": "least cost", "by": "ann", "at": "2026-11-21T12:00:00Z", "contract": {"name": "chat"}, "rule": "met: stop tuning", "path": [{"question": "is the run valid?", "answer": "yes"}]}');
insert into raw.studies (study, source_ids, document) values ('settings', [1], '{"at_rate_per_s": 2, "headline": "no difference shown", "finished_at": "2026-11-21T12:00:00Z", "configurations": [{"step": "baseline", "configuration": "baseline", "origin": "rehearsed", "repeats": [{}], "rate_per_s": 2, "rate_low_per_s": 1.9, "rate_high_per_s": 2.1, "p99_tpot_s": 0.05, "gpus": 1}]}');
