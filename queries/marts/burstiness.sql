-- One row per trace and width of window: how unevenly its requests come, at four scales of time.
-- A Poisson stream has an index of 1 at each of them; an index that grows with the width is traffic that swells and ebbs.
-- group: traces
-- source_name        what the user calls it
-- width_s            of the windows: 1, 10, 60 and 600 s, one behind the other from the first arrival
-- windows            whole ones that no silence of marts.silences reaches into: nothing comes there, which is no burst elsewhere
-- mean_requests      arrivals in one
-- dispersion_index   variance over mean of arrivals in one; null with fewer than ten windows
-- peak_requests      most arrivals in any stretch of that width, wherever it begins
-- windows_left_out   whole windows that a silence reaches into
-- dispersion_index_with_silences   variance over mean of arrivals in a window of all of them: what came before and after a silence counts,
--                    and so does that nothing came in it; null with fewer than ten windows
with widths as (
    select unnest([1, 10, 60, 600])::bigint as width_s
),

ends as (
    select
        source_name,
        max(offset_ns) as last_ns
    from staging.trace_rows
    group by source_name
),

-- What each silence covers, without what the one before it did.
silences as (
    select
        silences.source_name,
        widths.width_s,
        floor(silences.from_s / widths.width_s)::bigint as first_place,
        floor(silences.until_s / widths.width_s)::bigint as last_place,
        ends.last_ns // (widths.width_s * 1_000_000_000) as windows
    from marts.silences
    inner join ends on ends.source_name = silences.source_name
    cross join widths
),

silent as (
    select
        source_name,
        width_s,
        sum(greatest(0, least(last_place, windows - 1) - greatest(first_place, before_place + 1) + 1)) as windows
    from (
        select
            *,
            coalesce(lag(last_place) over (partition by source_name, width_s order by last_place, first_place), -1) as before_place
        from silences
    ) as ordered
    group by
        source_name,
        width_s
),

-- Only where a silence begins and ends can there be arrivals.
edges as (
    select
        source_name,
        width_s,
        first_place as place
    from silences
    union
    select
        source_name,
        width_s,
        last_place
    from silences
),

counts as (
    select
        rows.source_name,
        widths.width_s,
        rows.offset_ns // (widths.width_s * 1_000_000_000) as place,
        count(*)::double as requests
    from staging.trace_rows as rows
    cross join widths
    group by
        rows.source_name,
        widths.width_s,
        place
),

sums as (
    select
        counts.source_name,
        counts.width_s,
        any_value(ends.last_ns // (counts.width_s * 1_000_000_000) - coalesce(silent.windows, 0))::bigint as windows,
        any_value(coalesce(silent.windows, 0))::bigint as windows_left_out,
        sum(counts.requests) filter (where counts.is_whole) as all_requests,
        sum(counts.requests * counts.requests) filter (where counts.is_whole) as all_squares,
        sum(counts.requests) filter (where counts.is_counted) as requests,
        sum(counts.requests * counts.requests) filter (where counts.is_counted) as squares
    from (
        select
            counts.*,
            counts.place < ends.last_ns // (counts.width_s * 1_000_000_000) as is_whole,
            edges.place is null and is_whole as is_counted
        from counts
        inner join ends on ends.source_name = counts.source_name
        left join edges on edges.source_name = counts.source_name
            and edges.width_s = counts.width_s
            and edges.place = counts.place
    ) as counts
    inner join ends on ends.source_name = counts.source_name
    left join silent on silent.source_name = counts.source_name
        and silent.width_s = counts.width_s
    group by
        counts.source_name,
        counts.width_s
),

-- A stretch that ends with an arrival and is as wide as it can be without being as wide as the window.
stretches as (
    select
        source_name,
        count(*) over (partition by source_name order by offset_ns range between 999_999_999 preceding and current row) as in_1,
        count(*) over (partition by source_name order by offset_ns range between 9_999_999_999 preceding and current row) as in_10,
        count(*) over (partition by source_name order by offset_ns range between 59_999_999_999 preceding and current row) as in_60,
        count(*) over (partition by source_name order by offset_ns range between 599_999_999_999 preceding and current row) as in_600
    from staging.trace_rows
),

peaks as (
    select
        source_name,
        max(in_1) as in_1,
        max(in_10) as in_10,
        max(in_60) as in_60,
        max(in_600) as in_600
    from stretches
    group by source_name
)

select
    sums.source_name,
    sums.width_s,
    sums.windows,
    sums.requests / nullif(sums.windows, 0) as mean_requests,
    case when sums.windows >= 10 then macros.dispersion_index(sums.requests, sums.squares, sums.windows) end as dispersion_index,
    case sums.width_s when 1 then peaks.in_1 when 10 then peaks.in_10 when 60 then peaks.in_60 else peaks.in_600 end as peak_requests,
    sums.windows_left_out,
    case
        when sums.windows + sums.windows_left_out >= 10
            then macros.dispersion_index(sums.all_requests, sums.all_squares, sums.windows + sums.windows_left_out)
    end as dispersion_index_with_silences
from sums
inner join peaks on peaks.source_name = sums.source_name
