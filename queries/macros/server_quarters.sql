-- What a fleet did by the quarter of an hour by UTC's clock, as sums that can be added up over any hours, also those of a zone that is half an
-- hour or a quarter off. Only the time that is asked about is read.
-- group: server

-- The looks at gauges of some metrics files from one instant to another, seconds since 1970. Where a file has a quantity under several names, the one
-- of the smallest priority is there.
--   select count(*) from macros.gauges_between([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.gauges_between(source_ids, from_at, until_at) as table (
    with series as materialized (
        select *
        from macros.metric_series_of(source_ids)
        where kind = 'gauge'
        qualify priority = min(priority) over (partition by source_id, quantity)
    )

    select
        series.source_id,
        series.target,
        series.engine,
        series.gpu,
        series.repeats,
        series.quantity,
        epoch(sources.origin_at) + metrics.at_ns / 1e9 as at_s,
        metrics.value,
        metrics.value * series.factor as base_value
    from raw.metrics
    inner join raw.sources on sources.source_id = metrics.source_id and sources.is_dated
    inner join series
        on series.source_id = metrics.source_id
        and series.name = metrics.name
        and series.labels = metrics.labels
    where list_contains(source_ids, metrics.source_id)
        and isfinite(metrics.value)
        and metrics.at_ns >= epoch_ns(from_at) - epoch_ns(sources.origin_at)
        and metrics.at_ns < epoch_ns(until_at) - epoch_ns(sources.origin_at)
);

-- One row per metrics file with dates and quarter of an hour: what all engines of the file did in it.
--
-- Gauges count in the quarter of their look. What a counter grew between two looks is shared out over the quarters by time. Where two looks are
-- further apart than 1.25 times what is usual for that counter, there is a gap: what was counted across it belongs to no quarter.
--   source_id             the file
--   quarter_start         begin of the quarter
--   engine_looks          looks at an engine that said how many requests run in it
--   running               sum over these looks of the requests that run
--   running_squares       likewise of their squares: over running it is the batch that a token finds itself in, as large batches make more tokens
--   kv_running            sum of the requests that run over the looks that also say how full the KV cache is
--   kv_used_ratio         sum over those looks of the share of the cache in use
--   max_kv_used_ratio     the most of any engine
--   kv_cache_tokens       size of an engine's KV cache as the server says; null where it does not
--   waiting_looks         looks at an engine that said how many requests wait in it
--   waiting               sum over these looks of the requests that wait
--   max_waiting           the most of any engine
--   queued_looks          looks at an engine in which a request waits
--   running_while_queued  sum of the requests that run over these
--   gaps                  gaps between tokens that ended
--   gap_s                 their sum, seconds
--   tpot_requests         requests of which the server says their mean time per token
--   tpot_s                sum of these means, seconds
--   prompt_tokens         of prompts, those found in a cache too
--   cached_tokens         of these, found in a cache
--   generation_tokens     made
--   finished_requests     ended, however
--   preemptions           requests that lost their place
--   rejections            requests that the engine refused
--   drafts                guesses of a speculating engine
--   accepted_tokens       tokens of these that were kept
--   select count(*) from macros.server_quarters([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.server_quarters(source_ids, from_at, until_at) as table (
    with engines as (
        select
            source_id,
            floor(at_s / 900)::bigint as quarter,
            sum(base_value / repeats) filter (where quantity = 'running_requests') as running,
            sum(base_value / repeats) filter (where quantity = 'waiting_requests') as waiting,
            max(base_value) filter (where quantity = 'kv_used_ratio') as kv_used_ratio
        from macros.gauges_between(source_ids, from_at, until_at)
        where quantity in ('running_requests', 'waiting_requests', 'kv_used_ratio')
        group by
            source_id,
            target,
            engine,
            at_s
    ),

    gauges as (
        select
            source_id,
            quarter,
            count(running) as engine_looks,
            sum(running) as running,
            sum(running * running) as running_squares,
            sum(running) filter (where kv_used_ratio is not null) as kv_running,
            sum(kv_used_ratio) filter (where running is not null) as kv_used_ratio,
            max(kv_used_ratio) as max_kv_used_ratio,
            count(waiting) as waiting_looks,
            sum(waiting) as waiting,
            max(waiting) as max_waiting,
            count(*) filter (where waiting >= 1) as queued_looks,
            sum(running) filter (where waiting >= 1) as running_while_queued
        from engines
        group by
            source_id,
            quarter
    ),

    -- vLLM says the size of its cache in labels.
    caches as (
        select
            source_id,
            max(
                try_cast(regexp_extract(labels, '(?:^|,)num_gpu_blocks="([0-9]+)"', 1) as double)
                * try_cast(regexp_extract(labels, '(?:^|,)block_size="([0-9]+)"', 1) as double)
            ) as kv_cache_tokens
        from macros.metric_series_of(source_ids)
        where metric = 'vllm:cache_config_info'
        group by source_id
    ),

    grown as (
        select
            source_id,
            quantity || ' ' || part as counted,
            from_s,
            until_s,
            increase,
            median(until_s - from_s) over (partition by source_id, target, name) as usual_s
        from macros.growth_of(source_ids, null::varchar[], from_at, until_at)
        where until_s > from_s
            and (
                quantity in ('itl_s', 'tpot_s') and part in ('sum', 'count')
                or quantity in (
                    'prompt_tokens', 'prefix_hit_tokens', 'generation_tokens', 'finished_requests', 'preemptions', 'rejections', 'drafts', 'accepted_tokens'
                ) and part = 'value'
            )
    ),

    shared as (
        select
            source_id,
            counted,
            from_s,
            until_s,
            increase,
            unnest(macros.bins_touched(from_s, until_s, 900)) as quarter
        from grown
        where until_s - from_s <= 1.25e0 * usual_s
    ),

    counters as (
        select
            source_id,
            quarter,
            counted,
            sum(increase * macros.overlap_s(from_s, until_s, quarter, 900) / (until_s - from_s)) as increase
        from shared
        group by
            source_id,
            quarter,
            counted
    ),

    pivoted as (
        select
            source_id,
            quarter,
            sum(increase) filter (where counted = 'itl_s count') as gaps,
            sum(increase) filter (where counted = 'itl_s sum') as gap_s,
            sum(increase) filter (where counted = 'tpot_s count') as tpot_requests,
            sum(increase) filter (where counted = 'tpot_s sum') as tpot_s,
            sum(increase) filter (where counted = 'prompt_tokens value') as prompt_tokens,
            sum(increase) filter (where counted = 'prefix_hit_tokens value') as cached_tokens,
            sum(increase) filter (where counted = 'generation_tokens value') as generation_tokens,
            sum(increase) filter (where counted = 'finished_requests value') as finished_requests,
            sum(increase) filter (where counted = 'preemptions value') as preemptions,
            sum(increase) filter (where counted = 'rejections value') as rejections,
            sum(increase) filter (where counted = 'drafts value') as drafts,
            sum(increase) filter (where counted = 'accepted_tokens value') as accepted_tokens
        from counters
        group by
            source_id,
            quarter
    )

    select
        coalesce(gauges.source_id, pivoted.source_id) as source_id,
        to_timestamp(coalesce(gauges.quarter, pivoted.quarter) * 900e0) as quarter_start,
        gauges.* exclude (source_id, quarter),
        caches.kv_cache_tokens,
        pivoted.* exclude (source_id, quarter)
    from gauges
    full join pivoted on pivoted.source_id = gauges.source_id and pivoted.quarter = gauges.quarter
    left join caches on caches.source_id = coalesce(gauges.source_id, pivoted.source_id)
    where coalesce(gauges.quarter, pivoted.quarter) * 900 >= epoch(from_at)
        and coalesce(gauges.quarter, pivoted.quarter) * 900 < epoch(until_at)
);

-- One row per metrics file with dates, GPU and quarter of an hour: its clocks, and what held them down. A GPU that is seen through two exporters is
-- one GPU. Clocks and memory count while it works: a GPU that idles saves power.
--   source_id          the file
--   gpu                its UUID, else its host and number
--   quarter_start      begin of the quarter
--   busy_looks         looks at it while it worked and said its clock
--   sm_clock_hz        sum of its clocks over these, Hz
--   max_sm_clock_hz    the fastest of these, Hz
--   memory_clock_hz    the clock of its memory, the fastest seen, Hz: GPUs of one kind have the same
--   dram_looks         looks while it worked that say how busy its memory was
--   dram_active_ratio  sum over these of the share of time that its memory was read or written
--   throttle_looks     looks that say what holds its clock down
--   throttled_looks    of these, it was power, heat or the hardware
--   max_temperature_c  the hottest, degrees Celsius
--   select count(*) from macros.gpu_quarters([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.gpu_quarters(source_ids, from_at, until_at) as table (
    with looks as (
        select
            source_id,
            gpu,
            at_s,
            avg(base_value) filter (where quantity = 'gpu_sm_clock_hz') as sm_clock_hz,
            avg(base_value) filter (where quantity = 'gpu_memory_clock_hz') as memory_clock_hz,
            avg(base_value) filter (where quantity = 'gpu_busy_ratio') as busy_ratio,
            avg(base_value) filter (where quantity = 'gpu_dram_active_ratio') as dram_active_ratio,
            max(base_value) filter (where quantity = 'gpu_temperature_c') as temperature_c,
            bool_or(macros.throttle_causes(value) <> []) filter (where quantity = 'gpu_throttle_reasons') as is_throttled
        from macros.gauges_between(source_ids, from_at, until_at)
        where gpu is not null
            and quantity in (
                'gpu_sm_clock_hz', 'gpu_memory_clock_hz', 'gpu_busy_ratio', 'gpu_dram_active_ratio', 'gpu_temperature_c', 'gpu_throttle_reasons'
            )
        group by
            source_id,
            gpu,
            at_s
    )

    select
        source_id,
        gpu,
        to_timestamp(floor(at_s / 900) * 900) as quarter_start,
        count(sm_clock_hz) filter (where coalesce(busy_ratio >= 0.5e0, true)) as busy_looks,
        sum(sm_clock_hz) filter (where coalesce(busy_ratio >= 0.5e0, true)) as sm_clock_hz,
        max(sm_clock_hz) filter (where coalesce(busy_ratio >= 0.5e0, true)) as max_sm_clock_hz,
        max(memory_clock_hz) as memory_clock_hz,
        count(dram_active_ratio) filter (where coalesce(busy_ratio >= 0.5e0, true)) as dram_looks,
        sum(dram_active_ratio) filter (where coalesce(busy_ratio >= 0.5e0, true)) as dram_active_ratio,
        count(is_throttled) as throttle_looks,
        count(*) filter (where is_throttled) as throttled_looks,
        max(temperature_c) as max_temperature_c
    from looks
    group by
        source_id,
        gpu,
        floor(at_s / 900)
);

-- One row per hour of which some metrics files say something: their quarters added up over all files and replicas, in order, so that a sum is the same each time. The columns of
-- macros.server_quarters are sums, and of max_kv_used_ratio, max_waiting and kv_cache_tokens the most. A column that no file knows is null.
--   queues  mean queue of an engine in each quarter of the hour that has looks
--   gpus    of macros.gpu_quarters, in the hour: clock_hz and dram_active_ratio while it worked, memory_hz, throttled_ratio of its looks, temperature_c of the hottest
--   select count(*) from macros.fleet_hours([1::bigint], ['2026-11-16T09:00:00Z'::timestamptz])
create macro macros.fleet_hours(source_ids, hour_starts) as table (
    with hours as (
        select unnest(hour_starts) as hour_start
    ),

    quarters as (
        select
            hours.hour_start,
            quarters.*
        from macros.server_quarters(source_ids, list_min(hour_starts), list_max(hour_starts) + interval 1 hour) as quarters
        inner join hours on quarters.quarter_start >= hours.hour_start
            and quarters.quarter_start < hours.hour_start + interval 1 hour
    ),

    sums as (
        select
            hour_start,
            list_sum(list(columns(* exclude (hour_start, source_id, quarter_start, max_kv_used_ratio, max_waiting, kv_cache_tokens)) order by quarter_start, source_id)),
            max(max_kv_used_ratio) as max_kv_used_ratio,
            max(max_waiting) as max_waiting,
            max(kv_cache_tokens) as kv_cache_tokens,
            list(waiting / waiting_looks order by quarter_start, source_id) filter (where waiting_looks > 0) as queues
        from quarters
        group by hour_start
    ),

    gpus as (
        select
            hours.hour_start,
            quarters.gpu,
            min((quarters.quarter_start, quarters.source_id)) as seen,
            list_sum(list(sm_clock_hz order by quarter_start, source_id)) / nullif(sum(busy_looks), 0) as clock_hz,
            nullif(max(memory_clock_hz), 0) as memory_hz,
            list_sum(list(dram_active_ratio order by quarter_start, source_id)) / nullif(sum(dram_looks), 0) as dram_active_ratio,
            sum(throttled_looks) / nullif(sum(throttle_looks), 0) as throttled_ratio,
            max(max_temperature_c) as temperature_c
        from macros.gpu_quarters(source_ids, list_min(hour_starts), list_max(hour_starts) + interval 1 hour) as quarters
        inner join hours on quarters.quarter_start >= hours.hour_start
            and quarters.quarter_start < hours.hour_start + interval 1 hour
        group by hours.hour_start, quarters.gpu
    )

    select
        hours.hour_start,
        sums.* exclude (hour_start),
        (select list(gpus order by seen, gpu) from gpus where gpus.hour_start = hours.hour_start) as gpus
    from hours
    left join sums using (hour_start)
    where sums.hour_start is not null or exists (from gpus where gpus.hour_start = hours.hour_start)
);
