-- Demand of a service that is known by counts alone: windows of time with how many requests came in each, and histograms of lengths. count_table: the
-- name of a relation with the columns of macros.service_counts.
-- group: traces

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

-- Counts of a server between two looks as windows of a source: of a quantity that it says under several names, those of the best one.
-- growth_table: the name of a relation with source_id, quantity, priority, model, from_s, until_s, and what is counted. window_from_s, window_until_s: since the
-- first look at the quantity. class: the model, where the file has several.
--   with grown as (select source_id, quantity, priority, model, from_s, until_s, increase from staging.metric_intervals where not is_first) select count(*) from macros.counted_windows('grown')
create macro macros.counted_windows(growth_table) as table (
    select
        * exclude (priority, model, from_s, until_s),
        from_s - min(from_s) over of_quantity as window_from_s,
        until_s - min(from_s) over of_quantity as window_until_s,
        case when min(model) over of_quantity <> max(model) over of_quantity then model end as class
    from query_table(growth_table)
    window of_quantity as (partition by source_id, quantity)
    qualify priority = min(priority) over of_quantity
);

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

-- The counts of a week: rows of macros.counted_between, with bins and hours since from_at, of those sources. chosen: sources, and the only class or
-- model of each that counts, which windows name as their class; null: all.
-- is_chosen: of such a class. is_counted: in an hour that the source covers. Half of it at least lies in ordinary windows; of a figure that a source says in two
-- ways, the first that covers the hour; and an hour whose requests are not known has no tokens either. is_covered: some way to say the
-- figure is counted in the hour. Bins of a counted hour without a window have a row of no requests, so that nobody takes them for empty.
--   select count(*) from macros.service_counts([{'source_id': 1, 'model': null, 'class': 'chat'}], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.service_counts(chosen, from_at, until_at) as table (
    with counts as materialized (
        select
            *,
            bin // 12 as hour,
            len(list_filter(chosen, lambda one: one.source_id = source_id and (one.class is null or one.class = class) and (one.model is null or one.model = class))) > 0 as is_chosen
        from macros.counted_between([one.source_id for one in chosen], from_at, until_at)
    ),

    bins as (
        select
            source_id,
            figure,
            priority,
            hour,
            bin,
            max(covered_s) as covered_s
        from counts
        where not is_gap
        group by all
    ),

    hours as (
        select
            source_id,
            figure,
            hour,
            priority
        from bins
        group by source_id, figure, hour, priority
        having sum(covered_s) >= 1800 - 1e-3 -- instants are rounded
        qualify priority = min(priority) over (partition by source_id, figure, hour)
    ),

    covered as materialized (
        select *
        from hours
        where exists (from hours as counted where counted.source_id = hours.source_id and counted.hour = hours.hour and counted.figure = 'requests')
    ),

    judged as (
        select
            counts.*,
            covered.source_id is not null as is_covered,
            not counts.is_gap and coalesce(counts.priority = covered.priority, false) as is_counted
        from counts
        left join covered using (source_id, figure, hour)
    ),

    unseen as (
        select
            source_id,
            figure,
            priority,
            hour,
            unnest(range(hour * 12, (hour + 1) * 12)) as bin
        from covered
        where figure = 'requests'
    )

    select *
    from judged
    union all by name
    select
        unseen.*,
        false as is_gap,
        0e0 as amount,
        0e0 as covered_s,
        true as is_coarse,
        true as is_chosen,
        true as is_covered,
        true as is_counted
    from unseen
    anti join (from judged where is_counted) as seen using (source_id, figure, bin)
);

-- What the counts of a week (macros.service_counts) say of requests that are in no hour, and of refused ones: one row.
-- across_gaps: requests. in_part: those in hours that are covered by less than half. refused: those that an engine refused and counts apart; they
-- arrive in their hours, and nobody knows how long they were.
--   with counts as (from macros.service_counts([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select * from macros.counts_left_out('counts')
create macro macros.counts_left_out(count_table) as table (
    with gaps as (
        select amount
        from query_table(count_table)
        where figure = 'requests' and is_chosen and is_gap
        qualify priority = min(priority) over (partition by source_id)
    ),

    parts as (
        select amount
        from query_table(count_table)
        where figure = 'requests' and is_chosen and not is_gap and not is_covered
        qualify priority = min(priority) over (partition by source_id, hour)
    )

    select
        (select coalesce(sum(amount), 0) from gaps) as across_gaps,
        (select coalesce(sum(amount), 0) from parts) as in_part,
        coalesce(sum(amount) filter (where figure = 'rejections' and is_chosen and is_counted), 0) as refused
    from query_table(count_table)
);

-- The lengths of each hour of a week whose counts are known (macros.service_counts), as cells of histograms with how many requests are in each. Cells that are
-- shares (macros.counted_lengths) are scaled to the requests of their class and client; a cell, or a window, without class or client goes with all. An open
-- bucket ends at twice its lower bound, as in a replay of histograms. Where a source has joint cells in an hour its others are left out.
-- kind: 'joint' of prompts and answers together, 'input', 'output'. input, output: lengths above the first number and up to the second. is_open: the bucket has
-- no upper bound of its own. input_tokens, output_tokens: with the middle of the cell as the length of all its requests.
--   with counts as (from macros.service_counts([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.service_lengths('counts', [{'source_id': 1}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)
create macro macros.service_lengths(count_table, chosen, from_at, until_at) as table (
    with senders as (
        select
            source_id,
            hour,
            class,
            client,
            sum(amount) as requests
        from query_table(count_table)
        where figure in ('requests', 'rejections') and is_counted and is_chosen
        group by all
        having sum(amount) > 0
    ),

    bounded as (
        select
            *,
            case when coalesce(input_above, input_up_to) is not null then [coalesce(input_above, 0), coalesce(input_up_to, 2 * greatest(input_above, 1))] end as input,
            case when coalesce(output_above, output_up_to) is not null then [coalesce(output_above, 0), coalesce(output_up_to, 2 * greatest(output_above, 1))] end as output,
            input_above is not null and input_up_to is null or output_above is not null and output_up_to is null as is_open
        from macros.counted_lengths([one.source_id for one in chosen], from_at, until_at)
        where requests > 0
    ),

    cells as (
        select
            *,
            case when input is null then 'output' when output is null then 'input' else 'joint' end as kind
        from bounded
        where coalesce(input, output) is not null
            and coalesce(input[2] > input[1], true)
            and coalesce(output[2] > output[1], true)
    ),

    matched as (
        select
            cells.source_id,
            cells.hour,
            senders.class,
            cells.kind,
            cells.input,
            cells.output,
            cells.is_open,
            cells.requests * case
                when cells.is_share
                    then senders.requests / sum(cells.requests) over (partition by cells.source_id, cells.hour, senders.class, senders.client, cells.kind)
                else 1
            end as requests
        from cells
        inner join senders
            on senders.source_id = cells.source_id
            and senders.hour = cells.hour
            and coalesce(cells.class = senders.class, true)
            and coalesce(cells.client = senders.client, true)
        qualify cells.kind = 'joint' or not bool_or(cells.kind = 'joint') over (partition by cells.source_id, cells.hour)
    )

    select
        *,
        requests * (input[1] + 1 + input[2]) / 2 as input_tokens,
        requests * (output[1] + 1 + output[2]) / 2 as output_tokens
    from matched
);
