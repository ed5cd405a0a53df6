-- One row per run and figure that its server or its GPUs report and a diagnosis looks at: /metrics and DCGM while the run lasted, and the
-- server's settings. staging.evidence_figures says what each figure is.
--
-- Requests in flight, here and at the server, are those of marts.shared_servers: both are counted at the instants of the looks, so that the
-- comparison holds whatever the load does in between. Clocks and DRAM_ACTIVE are over the seconds in which the GPU worked: SM_ACTIVE
-- above 5 %, where it is measured.
-- Kept per run.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with seconds as (
    select
        run_id,
        second,
        sum(running) as running,
        sum(queue_depth) as queue_depth,
        max(max_kv_usage_ratio) as kv_usage_ratio,
        sum(mean_batch_size) as mean_batch_size,
        max(p99_queue_above_s) as p99_queue_above_s,
        case when count(p99_queue_above_s) = count(p99_queue_up_to_s) then max(p99_queue_up_to_s) end as p99_queue_up_to_s,
        sum(gpus) as gpus,
        avg(sm_active_ratio) as sm_active_ratio,
        avg(dram_active_ratio) as dram_active_ratio,
        max(max_temperature_c) as max_temperature_c,
        min(least_sm_clock_hz) as least_sm_clock_hz,
        max(most_sm_clock_hz) as most_sm_clock_hz,
        sum(throttled_gpus) as throttled_gpus,
        sum(heat_throttled_gpus) as heat_throttled_gpus,
        sum(power_throttled_gpus) as power_throttled_gpus,
        sum(hardware_throttled_gpus) as hardware_throttled_gpus,
        coalesce(avg(sm_active_ratio) >= 0.05e0, true) as is_busy
    from marts.server_seconds
    group by
        run_id,
        second
),

told as (
    select
        run_id,
        avg(queue_depth) as queue_depth,
        max(queue_depth) as max_queue_depth,
        avg((queue_depth >= 1)::integer) as queued_ratio,
        avg(running) filter (where queue_depth >= 1) as running_while_queued,
        avg(mean_batch_size) filter (where running > 0) as batch_size_avg,
        max(p99_queue_above_s) as p99_queue_above_s,
        case when count(p99_queue_above_s) = count(p99_queue_up_to_s) then max(p99_queue_up_to_s) end as p99_queue_up_to_s,
        max(kv_usage_ratio) as kv_usage_max_ratio,
        max(gpus) as gpus,
        avg(sm_active_ratio) as sm_active_ratio,
        avg(dram_active_ratio) filter (where is_busy) as dram_active_ratio,
        avg((throttled_gpus > 0)::integer) as throttled_ratio,
        nullif(avg((heat_throttled_gpus > 0)::integer), 0) as heat_throttled_ratio,
        nullif(avg((power_throttled_gpus > 0)::integer), 0) as power_throttled_ratio,
        nullif(avg((hardware_throttled_gpus > 0)::integer), 0) as hardware_throttled_ratio,
        -- Of the worst tenth of the seconds: a GPU that grows hot in the last third of a run is not in its median.
        quantile_cont(least_sm_clock_hz / nullif(most_sm_clock_hz, 0), 0.1) filter (where is_busy) as slowest_clock_ratio,
        -- Compared with the fastest second of the run, so that it shows one GPU, or all of them, being held down.
        median(most_sm_clock_hz) filter (where is_busy) / nullif(max(most_sm_clock_hz), 0) as sm_clock_ratio,
        max(max_temperature_c) as max_temperature_c
    from seconds
    group by run_id
),

-- How much each counter grew from its first look to its last, whatever happened between two looks. A counter that falls started again with
-- its server: its whole value is growth. Where several servers answer at an address, counters say nothing.
counted as (
    select
        run_id,
        sum(gain) filter (where quantity = 'preemptions') as preemptions,
        sum(gain) filter (where quantity = 'rejections') as rejections,
        sum(gain) filter (where quantity = 'accepted_tokens') as accepted_tokens,
        sum(gain) filter (where quantity = 'drafts') as drafts,
        avg(value) filter (where quantity = 'acceptance_length' and value > 0) as acceptance_length,
        avg(value) filter (where quantity = 'gpu_nvlink_byte_per_s') as nvlink_byte_per_s,
        avg(value) filter (where quantity = 'gpu_pcie_byte_per_s') as pcie_byte_per_s
    from (
        select
            run_id,
            quantity,
            value,
            case when not coalesce(processes.is_several, false) then macros.counter_growth(value, lag(value) over of_series) end as gain
        from staging.server_samples
        left join marts.server_processes as processes using (run_id, url)
        where quantity in (
            'preemptions', 'rejections', 'accepted_tokens', 'drafts', 'acceptance_length', 'gpu_nvlink_byte_per_s', 'gpu_pcie_byte_per_s'
        )
        window of_series as (partition by run_id, url, quantity, labels order by at_s)
    ) as each
    group by run_id
),

settings as (
    select
        run_id,
        max(try_cast(effective as double)) filter (where setting = 'kv_cache_tokens') as kv_tokens,
        max(try_cast(effective as double)) filter (where setting = 'max_model_len') as max_model_len,
        max(try_cast(coalesce(effective, asked_or_assumed) as double)) filter (where setting = 'max_num_seqs') as slots,
        max((lower(effective) in ('true', '1'))::integer) filter (where setting = 'enforce_eager') as is_eager,
        max((lower(effective) in ('true', '1'))::integer) filter (where setting = 'disable_custom_all_reduce') as is_custom_all_reduce_off,
        count(*) filter (where is_different and setting in ('quantization', 'dtype', 'kv_cache_dtype')) as differing_formats,
        -- Limits of the engine may have been assumed, and a model may be served under any name: neither counts as different.
        count(*) filter (where is_different and setting in ('gpu', 'catalog_model', 'quantization', 'dtype', 'kv_cache_dtype', 'tensor_parallel_size')) as differing_settings
    from marts.server_settings
    group by run_id
),

longest as (
    select
        run_id,
        max(coalesce(input_tokens_reported, input_tokens) + output_tokens) as tokens
    from staging.requests
    group by run_id
),

known as (
    select
        runs.run_id,
        told,
        longest.tokens as longest_request_tokens,
        counted,
        settings,
        servers,
        macros.kv_capacity_tokens(d) as kv_predicted_tokens,
        coalesce(settings.slots, d.max_num_seqs) * greatest(len(runs.endpoints), 1) as slots
    from staging.runs
    left join told on told.run_id = runs.run_id
    left join counted on counted.run_id = runs.run_id
    left join settings on settings.run_id = runs.run_id
    left join longest on longest.run_id = runs.run_id
    left join marts.shared_servers as servers on servers.run_id = runs.run_id
    left join staging.deployments as d on d.run_id = runs.run_id
)

select
    run_id,
    unnest(macros.known_figures([
        {'figure': 'paired_looks', 'value': servers.looks::double},
        {'figure': 'server_in_flight_ratio', 'value': servers.server_in_flight / nullif(servers.own_in_flight, 0)},
        {'figure': 'server_in_flight_more', 'value': servers.server_in_flight - servers.own_in_flight},
        -- Null if the run had the server to itself.
        {'figure': 'others_in_flight', 'value': case when servers.is_shared then servers.server_in_flight - servers.own_in_flight end},
        {'figure': 'queue_depth', 'value': told.queue_depth},
        {'figure': 'max_queue_depth', 'value': told.max_queue_depth},
        {'figure': 'p99_queue_above_s', 'value': told.p99_queue_above_s},
        {'figure': 'p99_queue_up_to_s', 'value': told.p99_queue_up_to_s},
        {'figure': 'batch_size_avg', 'value': told.batch_size_avg},
        {'figure': 'queued_ratio', 'value': told.queued_ratio},
        {'figure': 'running_while_queued', 'value': told.running_while_queued},
        {'figure': 'slots', 'value': slots},
        {'figure': 'kv_usage_max_ratio', 'value': told.kv_usage_max_ratio},
        {'figure': 'preemptions', 'value': counted.preemptions},
        {'figure': 'server_rejections', 'value': counted.rejections},
        {'figure': 'kv_said_tokens', 'value': settings.kv_tokens},
        {'figure': 'kv_predicted_tokens', 'value': kv_predicted_tokens},
        {'figure': 'kv_said_ratio', 'value': case when kv_predicted_tokens > 0 then settings.kv_tokens / kv_predicted_tokens end},
        {'figure': 'max_model_len', 'value': settings.max_model_len},
        {'figure': 'longest_request_tokens', 'value': longest_request_tokens},
        {'figure': 'max_model_len_ratio', 'value': settings.max_model_len / nullif(longest_request_tokens, 0)},
        {'figure': 'differing_formats', 'value': settings.differing_formats},
        {'figure': 'differing_settings', 'value': settings.differing_settings},
        {'figure': 'is_eager', 'value': settings.is_eager},
        {'figure': 'is_custom_all_reduce_off', 'value': settings.is_custom_all_reduce_off},
        {'figure': 'gpus', 'value': told.gpus},
        {'figure': 'sm_active_ratio', 'value': told.sm_active_ratio},
        {'figure': 'dram_active_ratio', 'value': told.dram_active_ratio},
        {'figure': 'throttled_ratio', 'value': told.throttled_ratio},
        {'figure': 'heat_throttled_ratio', 'value': told.heat_throttled_ratio},
        {'figure': 'power_throttled_ratio', 'value': told.power_throttled_ratio},
        {'figure': 'hardware_throttled_ratio', 'value': told.hardware_throttled_ratio},
        {'figure': 'slowest_clock_ratio', 'value': told.slowest_clock_ratio},
        {'figure': 'sm_clock_ratio', 'value': told.sm_clock_ratio},
        {'figure': 'max_temperature_c', 'value': told.max_temperature_c},
        {'figure': 'nvlink_byte_per_s', 'value': counted.nvlink_byte_per_s},
        {'figure': 'pcie_byte_per_s', 'value': counted.pcie_byte_per_s},
        -- vLLM counts drafts and accepted tokens; SGLang reports the mean itself.
        {'figure': 'acceptance_length', 'value': coalesce(1 + counted.accepted_tokens / nullif(counted.drafts, 0), counted.acceptance_length)}
    ]), recursive := true)
from known
