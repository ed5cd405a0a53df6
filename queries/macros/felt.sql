-- What the servers of a service counted, hour by hour: only the time that is asked about is read, however long their files are.
-- group: server

-- The series of metrics files, with their names and labels taken apart, as staging.metric_series says; null: of all files.
--   select count(*) from macros.metric_series_of([1::bigint])
create macro macros.metric_series_of(source_ids) as table (
    with listed as (
        select
            metrics.source_id,
            sources.name as source_name,
            sources.format,
            metrics.name,
            metrics.labels
        from raw.metrics
        inner join raw.sources on sources.source_id = metrics.source_id
        where source_ids is null or list_contains(source_ids, metrics.source_id)
        group by all
    ),

    named as (
        select distinct
            source_id,
            name
        from listed
    ),

    -- A histogram has all three; a gauge whose name ends in _count has not.
    families as (
        select
            source_id,
            regexp_replace(name, '_(bucket|sum|count)$', '') as family
        from named
        where regexp_matches(name, '_(bucket|sum|count)$')
        group by all
        having count(*) > 1 or bool_or(name like '%\_bucket' escape '\')
    ),

    parts as (
        select
            listed.*,
            regexp_extract_all(listed.labels, '[^=,]+="(?:[^"\\]|\\.)*"') as pairs,
            case when families.family is null then 'value' else regexp_extract(listed.name, '(bucket|sum|count)$', 1) end as part,
            regexp_replace(
                regexp_replace(
                    case
                        when families.family is not null then families.family
                        when listed.format = 'engine-csv' and listed.name not like 'vllm:%' then 'vllm:' || listed.name
                        else listed.name
                    end,
                    '^(?:ray_)?(vllm|sglang|trtllm)[:_]', '\1:'
                ),
                '_total$', ''
            ) as metric
        from listed
        left join families
            on families.source_id = listed.source_id
            and regexp_matches(listed.name, '_(bucket|sum|count)$')
            and families.family = regexp_replace(listed.name, '_(bucket|sum|count)$', '')
    ),

    labelled as (
        select
            parts.* exclude (pairs),
            case when part = 'bucket' then try_cast(regexp_extract(labels, '(?:^|,)le="([^"]*)"', 1) as double) end as le,
            nullif(regexp_extract(labels, '(?:^|,)(?:model_name|model|gen_ai_request_model)="((?:[^"\\]|\\.)*)"', 1), '') as model,
            nullif(regexp_extract(labels, '(?:^|,)(?:engine|dp_rank)="([^"]*)"', 1), '') as engine,
            array_to_string(
                list_filter(pairs, lambda pair: regexp_matches(pair, '^(instance|pod|namespace|job|container|cluster|node|replica|service|WorkerId|ReplicaId|NodeAddress|SessionName|endpoint_url)=')),
                ','
            ) as target,
            coalesce(
                nullif(regexp_extract(labels, '(?:^|,)(?:UUID|uuid)="([^"]*)"', 1), ''),
                nullif(concat_ws(' ', nullif(regexp_extract(labels, '(?:^|,)Hostname="([^"]*)"', 1), ''), nullif(regexp_extract(labels, '(?:^|,)gpu="([^"]*)"', 1), '')), '')
            ) as gpu,
            nullif(regexp_extract(labels, '(?:^|,)instance="((?:[^"\\]|\\.)*)"', 1), '') as exporter,
            array_to_string(
                list_filter(
                    pairs,
                    lambda pair: not regexp_matches(
                        pair,
                        '^(le|engine|model_name|model|instance|pod|namespace|job|container|cluster|node|replica|service|WorkerId|ReplicaId|NodeAddress|SessionName|endpoint_url)='
                    )
                ),
                ','
            ) as dimensions
        from parts
    )

    select
        labelled.source_id,
        labelled.source_name,
        labelled.format,
        labelled.name,
        labelled.labels,
        labelled.metric,
        labelled.part,
        labelled.le,
        labelled.part <> 'value' or coalesce(metric_names.kind = 'counter', labelled.name like '%\_total' escape '\') as is_counter,
        labelled.model,
        labelled.engine,
        count(*) over (partition by labelled.source_id, labelled.name, macros.without_ranks(labelled.labels)) as repeats,
        labelled.target,
        labelled.gpu,
        labelled.exporter,
        labelled.dimensions,
        metric_names.quantity,
        metric_names.kind,
        coalesce(metric_names.factor, 1e0) as factor,
        coalesce(metric_names.priority, 9) as priority
    from labelled
    left join seeds.metric_names
        on metric_names.metric = labelled.metric
        and contains(labelled.labels, coalesce(metric_names.label, ''))
        and (metric_names.kind = 'histogram') = (labelled.part <> 'value')
);

-- How much a counter grew since it was looked at before. One that fell was started again in between, and has counted from zero since.
--   select macros.counter_growth(12, 10) as grown, macros.counter_growth(3, 10) as started_again
create macro macros.counter_growth(counted, counted_before) as
    counted - case when counted < counted_before then 0 else counted_before end;

-- The growth of the counters and histograms of some metrics files that say one of some quantities (null: any), from one instant to another: one row per series and two successive looks
-- at its name on one server, as staging.metric_intervals has it for all time. The instants are seconds since 1970. is_short: at most five
-- minutes, and no gap. Where a file has a quantity under several names, the one of the smallest priority is there. Of a histogram one
-- part alone may be asked for: 'ttft_s count'.
--   select count(*) from macros.growth_of([1::bigint], ['ttft_s'], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.growth_of(source_ids, quantities, from_at, until_at) as table (
    with origins as (
        select
            source_id,
            epoch_ns(origin_at) as origin_ns
        from raw.sources
        where list_contains(source_ids, source_id) and is_dated
    ),

    exposed as materialized (
        from macros.metric_series_of(source_ids)
    ),

    series as materialized (
        select
            *,
            dense_rank() over (order by source_id, target) as server,
            dense_rank() over (order by source_id, target, name) as name_number,
            dense_rank() over (order by source_id, name, le, case when part = 'bucket' then regexp_replace(macros.without_ranks(labels), '(^|,)le="[^"]*"', '') else macros.without_ranks(labels) end) as series
        from exposed
        where is_counter
            and quantity is not null
            and (quantities is null or list_contains(quantities, quantity) or list_contains(quantities, quantity || ' ' || part))
        qualify priority = min(priority) over (partition by source_id, quantity)
    ),

    -- A day before the first instant shows what was counted across a gap.
    seen as materialized (
        select
            series.server,
            series.name_number,
            series.series,
            origins.origin_ns + metrics.at_ns as at_ns,
            max(metrics.value) as value
        from raw.metrics
        inner join origins on origins.source_id = metrics.source_id
        inner join series
            on series.source_id = metrics.source_id
            and series.name = metrics.name
            and series.labels = metrics.labels
        where list_contains(source_ids, metrics.source_id)
            and isfinite(metrics.value)
            and metrics.at_ns + origins.origin_ns >= epoch_ns(from_at) - 86_400_000_000_000
            and metrics.at_ns + origins.origin_ns <= epoch_ns(until_at) + 3_600_000_000_000
        group by all
    ),

    processes as (
        select
            exposed.source_id,
            exposed.target,
            origins.origin_ns + metrics.at_ns as at_ns,
            1e9 * max(metrics.value) as started_ns
        from exposed
        inner join origins on origins.source_id = exposed.source_id
        inner join raw.metrics
            on metrics.source_id = exposed.source_id
            and metrics.name = exposed.name
            and metrics.labels = exposed.labels
        where exposed.name = 'process_start_time_seconds'
        group by all
    ),

    looks as (
        select
            *,
            lag(at_ns) over (partition by name_number order by at_ns) as before_ns,
            min(at_ns) over (partition by server) as began_ns
        from (select distinct server, name_number, at_ns from seen)
    ),

    spans as (
        select
            *,
            median(at_ns - before_ns) over (partition by name_number) as rhythm_ns
        from looks
    ),

    grown as (
        select
            seen.*,
            lag(seen.value) over (partition by seen.series order by seen.at_ns) as last_value
        from seen
    ),

    told as (
        select
            source_id,
            series,
            any_value(server) as server,
            any_value(name) as name,
            any_value(target) as target,
            any_value(quantity) as quantity,
            any_value(part) as part,
            any_value(le * factor) as le,
            any_value(case when part in ('bucket', 'count') then 1 else factor end) as factor,
            any_value(dimensions) as dimensions
        from series
        group by all
    )

    select
        told.source_id,
        told.target,
        told.name,
        told.series,
        told.quantity,
        told.part,
        told.le,
        told.dimensions,
        -- A name that is new on a server that was there before has counted from zero since its last look, and that of a new process since it began.
        case
            when spans.before_ns is not null then spans.before_ns
            when spans.at_ns - spans.began_ns >= spans.rhythm_ns then greatest(spans.began_ns, spans.at_ns - spans.rhythm_ns)
            else processes.started_ns
        end / 1e9 as from_s,
        spans.at_ns / 1e9 as until_s,
        spans.at_ns - spans.before_ns <= least(300e9, 1.25e0 * spans.rhythm_ns) as is_short,
        macros.counter_growth(grown.value, coalesce(grown.last_value, 0)) * told.factor as increase
    from grown
    inner join told on told.series = grown.series
    inner join spans
        on spans.name_number = grown.name_number
        and spans.at_ns = grown.at_ns
    left join processes
        on processes.source_id = told.source_id
        and processes.target = told.target
        and processes.at_ns = spans.at_ns
    where (
            spans.before_ns is not null
            or spans.at_ns - spans.began_ns >= spans.rhythm_ns
            or not macros.is_counting_gap((spans.at_ns - processes.started_ns) / 1e9, spans.rhythm_ns / 1e9)
        )
        and spans.at_ns > epoch_ns(from_at)
);

-- What was felt in each of some hours: a row per hour, figure, part and bound. An hour holds the growth between two looks that both lie in
-- it, and of short ones whose middle does. What was counted across a gap, or before a server was first looked at, is in no hour. Replicas are added up; a
-- bound that a replica lacks is left out.
-- figure: ttft, tpot, queue, e2e; finished, failed (ended by error or abort), rejected, preempted; waiting, kv_used. part: 'bucket', 'sum' and
-- 'count' of a latency, 'value' of a counter, 'mean' of a gauge: requests that wait in all replicas, and the share of one replica's KV
-- cache. le: upper bound of a bucket, seconds. amount: requests or seconds, or the mean. covered_s: how long the replica that was
-- looked at most was looked at.
--   select count(*) from macros.felt([1::bigint], ['2026-11-16T09:00:00Z'::timestamptz])
create macro macros.felt(source_ids, hour_starts) as table (
    with hours as (
        select
            hour_start,
            epoch(hour_start) as hour_s
        from (select unnest(hour_starts) as hour_start)
    ),

    grown as (
        select
            *,
            (from_s + until_s) / 2 as middle_s,
            regexp_extract(dimensions, 'finished_reason="([^"]*)"', 1) as reason
        from macros.growth_of(
            source_ids,
            ['ttft_s', 'tpot_s', 'queue_s', 'e2e_s', 'finished_requests', 'rejections', 'preemptions'],
            list_min(hour_starts),
            list_max(hour_starts) + interval 1 hour
        )
    ),

    counted as (
        select
            hours.hour_start,
            grown.quantity,
            grown.part,
            grown.le,
            grown.source_id,
            grown.target,
            grown.series,
            grown.reason,
            sum(grown.increase) as increase,
            sum(grown.until_s - grown.from_s) as covered_s
        from grown
        inner join hours
            on grown.middle_s >= hours.hour_s
            and grown.middle_s < hours.hour_s + 3600
        where grown.is_short or grown.from_s >= hours.hour_s and grown.until_s <= hours.hour_s + 3600
        group by all
    ),

    bounds as (
        select
            hour_start,
            quantity,
            part,
            le,
            sum(increase) as amount,
            max(covered_s) as covered_s,
            count(*) as counters
        from counted
        where quantity not in ('finished_requests', 'rejections', 'preemptions')
        group by all
    ),

    common as (
        select *
        from bounds
        qualify counters = max(counters) over (partition by hour_start, quantity, part)
    ),

    engine_gauges as (
        select
            hours.hour_start,
            looks.quantity,
            looks.source_id,
            looks.target,
            looks.engine,
            looks.at_s,
            sum(looks.base_value / looks.repeats) as amount,
            max(looks.base_value) as most
        from macros.gauges_between(source_ids, list_min(hour_starts), list_max(hour_starts) + interval 1 hour) as looks
        inner join hours
            on looks.at_s >= hours.hour_s
            and looks.at_s < hours.hour_s + 3600
        where looks.quantity in ('waiting_requests', 'kv_used_ratio')
        group by all
    ),

    gauges as (
        select
            hour_start,
            quantity,
            source_id,
            target,
            at_s,
            sum(amount) as of_engines,
            avg(most) as of_one
        from engine_gauges
        group by all
    ),

    -- A replica that was there for a part of the hour waits for that part of it.
    of_replicas as (
        select
            hour_start,
            quantity,
            source_id,
            target,
            sum(of_engines) as of_engines,
            sum(of_one) as of_one,
            count(*) as looks
        from gauges
        group by all
    )

    select
        hour_start,
        case quantity when 'ttft_s' then 'ttft' when 'tpot_s' then 'tpot' when 'queue_s' then 'queue' else 'e2e' end as figure,
        part,
        le,
        amount,
        covered_s
    from common
    union all
    select
        hour_start,
        case quantity when 'finished_requests' then 'finished' when 'rejections' then 'rejected' else 'preempted' end as figure,
        part,
        null as le,
        sum(increase) as amount,
        max(covered_s) as covered_s
    from counted
    where quantity in ('finished_requests', 'rejections', 'preemptions')
    group by all
    union all
    select
        hour_start,
        'failed' as figure,
        part,
        null as le,
        coalesce(sum(increase) filter (where reason in ('abort', 'error')), 0) as amount,
        max(covered_s) as covered_s
    from counted
    where quantity = 'finished_requests' and reason <> ''
    group by all
    union all
    select
        hour_start,
        'waiting' as figure,
        'mean' as part,
        null as le,
        sum(of_engines) / max(looks) as amount,
        null as covered_s
    from of_replicas
    where quantity = 'waiting_requests'
    group by all
    union all
    select
        hour_start,
        'kv_used' as figure,
        'mean' as part,
        null as le,
        sum(of_one) / sum(looks) as amount,
        null as covered_s
    from of_replicas
    where quantity = 'kv_used_ratio'
    group by all
);
