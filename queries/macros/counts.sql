-- Demand of a service that is known by counts alone: windows of time with how many requests came in each, and histograms of lengths. count_table: the
-- name of a relation with the columns of macros.service_counts.
-- group: traces

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
--   with counts as (from macros.service_counts([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.service_lengths('counts', [1::bigint], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)
create macro macros.service_lengths(count_table, source_ids, from_at, until_at) as table (
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
        from macros.counted_lengths(source_ids, from_at, until_at)
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
