-- The same requests in two traces of a service. request_table: the name of a relation with the columns of macros.service_requests. The later
-- trace is the one whose copies are left out.
-- group: traces

-- Requests of the later trace with the instants and lengths of requests of the earlier one, each paired once: none where they are fewer than
-- ten, or fewer than half of the rows of either trace where the two overlap, which chance or a coarse clock may bring.
--   with requests as (from macros.service_requests([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.exact_copies('requests', 1, 2)
create macro macros.exact_copies(request_table, earlier, later) as table (
    with span as (
        select
            greatest(min(since_ns) filter (where source_id = earlier), min(since_ns) filter (where source_id = later)) as from_ns,
            least(max(since_ns) filter (where source_id = earlier), max(since_ns) filter (where source_id = later)) as until_ns
        from query_table(request_table)
    ),

    numbered as (
        select
            source_id,
            line,
            since_ns,
            input_tokens,
            output_tokens,
            row_number() over (partition by source_id, since_ns, input_tokens, output_tokens order by line) as nth
        from query_table(request_table)
        cross join span
        where source_id in (earlier, later)
            and since_ns between span.from_ns and span.until_ns
    )

    select
        copy.source_id,
        copy.line
    from numbered as original
    inner join numbered as copy using (since_ns, input_tokens, output_tokens, nth)
    where original.source_id = earlier
        and copy.source_id = later
    qualify count(*) over (partition by true) >= 10
        and 2 * count(*) over (partition by true) >= (select least(count(*) filter (where source_id = earlier), count(*) filter (where source_id = later)) from numbered)
);

-- How far the later trace's clock is ahead of the earlier one's, if they hold the same requests: at most one row. Of the trace with fewer rows, 200 at
-- least, 400 are looked up in the other one within two minutes: nine tenths must be found about one offset, and fewer than half about any other, else
-- the lengths tell too little (a load test with one length is everywhere alike). An offset stands for a window of two seconds, and windows begin every second.
--   with requests as (from macros.service_requests([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(offset_s) from macros.clock_offset('requests', 1, 2)
create macro macros.clock_offset(request_table, earlier, later) as table (
    with sides as (
        select
            source_id,
            count(*) as requests,
            min(since_ns) as first_ns,
            max(since_ns) as last_ns,
            row_number() over (order by count(*), source_id) as nth
        from query_table(request_table)
        where source_id in (earlier, later)
        group by source_id
    ),

    pair as (
        select
            fewer.source_id as fewer_id,
            more.source_id as more_id,
            greatest(fewer.first_ns, more.first_ns) as from_ns,
            least(fewer.last_ns, more.last_ns) as until_ns
        from sides as fewer
        cross join sides as more
        where fewer.nth = 1
            and more.nth = 2
            and fewer.requests >= 200
    ),

    chosen as (
        select
            line,
            since_ns,
            input_tokens,
            output_tokens
        from query_table(request_table)
        inner join pair on source_id = pair.fewer_id
            and since_ns between pair.from_ns and pair.until_ns
        order by hash(line)
        limit 400
    ),

    looked_up as (
        select
            *,
            unnest(range(since_ns // 120_000_000_000 - 1, since_ns // 120_000_000_000 + 2)) as stretch
        from chosen
    ),

    others as (
        select
            since_ns,
            input_tokens,
            output_tokens,
            since_ns // 120_000_000_000 as stretch
        from query_table(request_table)
        inner join pair on source_id = pair.more_id
    ),

    found as (
        select
            looked_up.line,
            (others.since_ns - looked_up.since_ns) / 1e9 as ahead_s
        from looked_up
        inner join others using (input_tokens, output_tokens, stretch)
        where abs(others.since_ns - looked_up.since_ns) <= 120_000_000_000
    ),

    windows as (
        select
            window_s,
            count(distinct line) as requests,
            median(ahead_s) as ahead_s,
            (select count(*) from chosen) as of_requests
        from (
            select
                *,
                unnest([floor(ahead_s), floor(ahead_s) - 1]) as window_s
            from found
        )
        group by window_s
    ),

    best as (
        select *
        from windows
        order by requests desc, window_s
        limit 1
    )

    select case when pair.more_id = later then best.ahead_s else -best.ahead_s end as offset_s
    from best
    cross join pair
    where best.requests >= 9e-1 * best.of_requests
        and not exists (
            from windows
            where abs(windows.window_s - best.window_s) >= 5
                and windows.requests >= 5e-1 * windows.of_requests
        )
);

-- Requests of the later trace that the earlier one has by a clock that is offset_s behind, as macros.clock_offset finds it: none where they are fewer than
-- 200, or fewer than 99 % of the rows of either trace where the two overlap. Requests of the same lengths are paired in order, within stretches in
-- which neighbours are at most a second apart. Copies that lie in the week (week_ns long) by the later clock alone are among them: the earlier trace, which goes from
-- first_ns to last_ns, has them in the week before or after.
--   with requests as (from macros.service_requests([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.shifted_copies('requests', 1, 2, 30, 604_800_000_000_000, 0, 604_800_000_000_000)
create macro macros.shifted_copies(request_table, earlier, later, offset_s, week_ns, first_ns, last_ns) as table (
    with by_one_clock as (
        select
            source_id,
            line,
            input_tokens,
            output_tokens,
            since_ns - case when source_id = later then round(offset_s * 1e9)::bigint else 0 end as at_ns
        from query_table(request_table)
        where source_id in (earlier, later)
    ),

    span as (
        select
            greatest(min(at_ns) filter (where source_id = earlier), min(at_ns) filter (where source_id = later)) - 1_000_000_000 as from_ns,
            least(max(at_ns) filter (where source_id = earlier), max(at_ns) filter (where source_id = later)) + 1_000_000_000 as until_ns
        from by_one_clock
    ),

    steps as (
        select
            by_one_clock.*,
            coalesce(at_ns - lag(at_ns) over (partition by input_tokens, output_tokens order by at_ns), 1_000_000_000) >= 1_000_000_000 as is_step
        from by_one_clock
        cross join span
        where at_ns between span.from_ns and span.until_ns
    ),

    stretches as (
        select
            *,
            count(*) filter (where is_step) over (partition by input_tokens, output_tokens order by at_ns) as stretch
        from steps
    ),

    numbered as (
        select
            *,
            row_number() over (partition by source_id, input_tokens, output_tokens, stretch order by at_ns, line) as nth
        from stretches
    ),

    pairs as (
        select
            copy.source_id,
            copy.line
        from numbered as original
        inner join numbered as copy using (input_tokens, output_tokens, stretch, nth)
        where original.source_id = earlier
            and copy.source_id = later
            and abs(copy.at_ns - original.at_ns) <= 1_000_000_000
        qualify count(*) over (partition by true) >= 200
            and count(*) over (partition by true) >= 99e-2 * (select least(count(*) filter (where source_id = earlier), count(*) filter (where source_id = later)) from steps)
    )

    select *
    from pairs
    union
    select
        source_id,
        line
    from by_one_clock
    where source_id = later
        and at_ns not between 0 and week_ns - 1
        and at_ns between first_ns and last_ns
        and exists (from pairs)
);
