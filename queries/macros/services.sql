-- The demand of a service: requests of several traces within an interval of time.
-- group: traces

-- Requests of some traces from one instant to another (not included), with their instants in nanoseconds since 1970. is_measured: it did not
-- fail and has an answer, so that its lengths count. session_key: a number that the requests of a session share. Traces without dates have no instants and no rows.
--   select count(*) from macros.arrivals_between([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.arrivals_between(source_ids, from_at, until_at) as table (
    with origins as (
        select
            source_id,
            epoch_ns(origin_at) as origin_ns
        from raw.sources
        where list_contains(source_ids, source_id) and is_dated
    )

    select
        arrivals.source_id,
        origins.origin_ns + arrivals.arrival_ns as at_ns,
        arrivals.input_tokens,
        arrivals.output_tokens,
        arrivals.class,
        arrivals.line,
        details.model,
        hash(arrivals.source_id, coalesce(arrivals.session_id, arrivals.line::varchar)) as session_key,
        not coalesce(details.is_failed, false) and arrivals.output_tokens > 0 as is_measured
    from raw.arrivals
    inner join origins on origins.source_id = arrivals.source_id
    left join raw.arrival_details as details on details.source_id = arrivals.source_id
        and details.line = arrivals.line
    where origins.origin_ns + arrivals.arrival_ns >= epoch_ns(from_at)
        and origins.origin_ns + arrivals.arrival_ns < epoch_ns(until_at)
);

-- A window of time across which something was counted is a gap where it is much longer than usual: nobody knows when in it the requests came.
--   select macros.is_counting_gap(900, 60) as is_gap
create macro macros.is_counting_gap(window_s, usual_s) as
    window_s > 600 and window_s > 3 * usual_s;

-- The bins of a width that a stretch of time touches. Bin 0 begins at 0.
--   select macros.bins_touched(250, 700, 300) as bins
create macro macros.bins_touched(from_s, until_s, width_s) as
    range(floor(from_s / width_s)::bigint, ceil(until_s / width_s)::bigint);

-- How much of a stretch of time lies in a bin that it touches, seconds.
--   select macros.overlap_s(250, 700, 0, 300) as overlap_s
create macro macros.overlap_s(from_s, until_s, bin, width_s) as
    least(until_s, (bin + 1) * width_s) - greatest(from_s, bin * width_s);

-- What some sources counted in windows of time, from one instant to another (not included): requests, and tokens of prompts and answers, spread
-- evenly over the bins of five minutes by the clock that a window touches. Windows are those of raw.rate_windows, and those between
-- two looks at a server's counters; a server counts a request when it ends. Sources without dates have no rows.
-- figure: requests, rejections (requests that an engine refused; not among requests), input_tokens, output_tokens. priority: a source may say a figure in two ways, and the smaller number counts; sums of
-- length histograms are 1, counters of tokens 2. class, client: whose windows they are; null for counters. bin: 0 begins at from_at. amount: requests or tokens in
-- the bin. covered_s: how much of the bin is covered by the windows of the server that was looked at most. is_coarse: one of the windows is longer
-- than five minutes, so that its mean rate stands for all of it. is_gap: the row is of windows that are gaps (macros.is_counting_gap).
--   select count(*) from macros.counted_between([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.counted_between(source_ids, from_at, until_at) as table (
    with said as (
        select
            rate_windows.source_id,
            '' as server,
            rate_windows.class,
            rate_windows.client,
            'requests' as figure,
            1 as priority,
            epoch(sources.origin_at) - epoch(from_at) + rate_windows.window_from_s as from_s,
            epoch(sources.origin_at) - epoch(from_at) + rate_windows.window_until_s as until_s,
            rate_windows.requests as amount
        from raw.rate_windows
        inner join raw.sources on sources.source_id = rate_windows.source_id
        where list_contains(source_ids, rate_windows.source_id) and sources.is_dated
        union all
        select
            source_id,
            target as server,
            null as class,
            null as client,
            case
                when quantity = 'finished_requests' or part = 'count' then 'requests'
                when quantity = 'rejections' then 'rejections'
                when quantity in ('input_tokens', 'prompt_tokens') then 'input_tokens'
                else 'output_tokens'
            end as figure,
            case when part = 'value' then 2 else 1 end as priority,
            from_s - epoch(from_at) as from_s,
            until_s - epoch(from_at) as until_s,
            sum(increase) as amount
        from macros.growth_of(
            source_ids,
            ['input_tokens count', 'finished_requests value', 'rejections value', 'input_tokens sum', 'output_tokens sum', 'prompt_tokens value', 'generation_tokens value'],
            from_at,
            until_at
        )
        group by all
    ),

    windows as (
        select
            *,
            macros.is_counting_gap(until_s - from_s, median(until_s - from_s) over (partition by source_id, figure, priority)) as is_gap
        from said
        where until_s > from_s
    ),

    touched as (
        select
            *,
            unnest(macros.bins_touched(greatest(from_s, 0), least(until_s, epoch(until_at) - epoch(from_at)), 300)) as bin
        from windows
    ),

    of_servers as (
        select
            source_id,
            server,
            class,
            client,
            figure,
            priority,
            is_gap,
            bin,
            sum(amount * macros.overlap_s(from_s, until_s, bin, 300) / (until_s - from_s)) as amount,
            sum(macros.overlap_s(from_s, until_s, bin, 300)) as covered_s,
            bool_or(until_s - from_s > 300 + 1e-3) as is_coarse
        from touched
        group by all
    )

    select
        source_id,
        class,
        client,
        figure,
        priority,
        is_gap,
        bin,
        sum(amount) as amount,
        least(max(covered_s), 300) as covered_s,
        bool_or(is_coarse) as is_coarse
    from of_servers
    group by all
);

-- The lengths that some sources counted in each hour since an instant, as cells of histograms. Windows of lengths are spread evenly over the
-- hours that they touch, but for gaps (macros.is_counting_gap). Cells of raw.length_cells without a window are of every hour. They are of the source
-- itself, or of the collection that its rates belong to. Of servers' histograms only bounds that all servers have count.
-- hour: 0 begins at from_at. is_share: requests says how common the cell is among those of its class and client, and not how many there were.
-- input_above, input_up_to, output_above, output_up_to: bounds in tokens, as in raw.length_cells.
--   select count(*) from macros.counted_lengths([1::bigint], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.counted_lengths(source_ids, from_at, until_at) as table (
    with pairs as (
        select distinct
            rated.source_id,
            measured.source_id as cells_id,
            epoch(coalesce(measured.origin_at, rated.origin_at)) - epoch(from_at) as origin_s
        from raw.sources as rated
        inner join raw.sources as measured
            on measured.source_id = rated.source_id
            or measured.collection = rated.collection
            or measured.name = rated.collection
        where list_contains(source_ids, rated.source_id) and rated.is_dated
    ),

    said as (
        select
            pairs.source_id,
            cells.class,
            cells.client,
            cells.input_above,
            cells.input_up_to,
            cells.output_above,
            cells.output_up_to,
            coalesce(pairs.origin_s + cells.window_from_s, 0) as from_s,
            coalesce(pairs.origin_s + cells.window_until_s, epoch(until_at) - epoch(from_at)) as until_s,
            cells.requests
        from raw.length_cells as cells
        inner join pairs on pairs.cells_id = cells.source_id
    ),

    grown as (
        select
            source_id,
            quantity,
            le,
            series,
            from_s - epoch(from_at) as from_s,
            until_s - epoch(from_at) as until_s,
            increase,
            median(until_s - from_s) over (partition by source_id, quantity) as usual_s
        from macros.growth_of(source_ids, ['input_tokens bucket', 'output_tokens bucket'], from_at, until_at)
        where until_s > from_s
    ),

    touched as (
        select
            *,
            unnest(macros.bins_touched(greatest(from_s, 0), least(until_s, epoch(until_at) - epoch(from_at)), 3600)) as hour
        from grown
        where not macros.is_counting_gap(until_s - from_s, usual_s)
    ),

    bounds as (
        select
            source_id,
            hour,
            quantity,
            le,
            sum(increase * macros.overlap_s(from_s, until_s, hour, 3600) / (until_s - from_s)) as up_to_le,
            count(distinct series) as counters
        from touched
        group by all
    ),

    common as (
        select *
        from bounds
        qualify counters = max(counters) over (partition by source_id, hour, quantity)
    ),

    counted as (
        select
            source_id,
            hour,
            quantity,
            coalesce(lag(le) over bounds_of_hour, 0)::bigint as above,
            case when isfinite(le) then le::bigint end as up_to,
            up_to_le - coalesce(lag(up_to_le) over bounds_of_hour, 0) as requests
        from common
        window bounds_of_hour as (partition by source_id, hour, quantity order by le)
    ),

    cells_of_hours as (
        select
            *,
            unnest(macros.bins_touched(greatest(from_s, 0), least(until_s, epoch(until_at) - epoch(from_at)), 3600)) as hour
        from said
    )

    select
        source_id,
        hour,
        class,
        client,
        true as is_share,
        input_above,
        input_up_to,
        output_above,
        output_up_to,
        sum(requests * macros.overlap_s(from_s, until_s, hour, 3600) / (until_s - from_s)) as requests
    from cells_of_hours
    group by all
    union all
    select
        source_id,
        hour,
        null as class,
        null as client,
        false as is_share,
        case when quantity = 'input_tokens' then above end as input_above,
        case when quantity = 'input_tokens' then up_to end as input_up_to,
        case when quantity = 'output_tokens' then above end as output_above,
        case when quantity = 'output_tokens' then up_to end as output_up_to,
        requests
    from counted
    where requests > 1e-9
);
