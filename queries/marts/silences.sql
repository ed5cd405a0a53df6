-- One row per silence of a trace: a gap of at least ten seconds that is also longer than 5 ln(n) times the mean gap, which is five times
-- the longest of n gaps in a Poisson stream. If there are more than three, those below a minute are left out, because then the traffic
-- itself comes in bursts. A trace of fewer than ten gaps has none.
-- group: traces
-- source_name       what the user calls it
-- from_s            instant of the last request before it, seconds since the first arrival
-- until_s           of the first one after it
-- requests_before   requests up to its start
-- requests_after    from its end on
with gaps as (
    select
        source_name,
        lag(offset_ns) over before as begin_ns,
        offset_ns as end_ns,
        row_number() over before - 1 as requests_before
    from staging.trace_rows
    window before as (partition by source_name order by offset_ns)
),

shapes as (
    select
        source_name,
        count(*) as gaps,
        avg((end_ns - begin_ns) / 1e9) as mean_gap_s
    from gaps
    where begin_ns is not null
    group by source_name
)

select
    gaps.source_name,
    gaps.begin_ns / 1e9 as from_s,
    gaps.end_ns / 1e9 as until_s,
    gaps.requests_before,
    shapes.gaps + 1 - gaps.requests_before as requests_after
from gaps
inner join shapes on shapes.source_name = gaps.source_name
where shapes.gaps >= 10
    and gaps.end_ns - gaps.begin_ns >= 10_000_000_000
    and (gaps.end_ns - gaps.begin_ns) / 1e9 >= 5e0 * ln(shapes.gaps) * shapes.mean_gap_s
qualify gaps.end_ns - gaps.begin_ns >= 60_000_000_000
    or count(*) over (partition by gaps.source_name) <= 3
