-- One row per trace of two requests or more: the gaps between its arrivals.
-- group: traces
-- source_name         what the user calls it
-- gaps                between requests in order of time: one less than there are requests
-- zero_gaps           of these, without length: the request has the instant of the one before
-- mean_gap_s          seconds
-- gap_cv              coefficient of variation, standard deviation over mean: 1 of a Poisson stream, 0 of a metronome; null
--                     when all arrive at once
-- longest_gap_s       seconds
-- longest_gap_at_s    when it began, seconds since the first arrival
-- silences            of these, what marts.silences has
-- silent_s            their time, seconds
-- busy_gap_cv         coefficient of variation of the others
with gaps as (
    select
        source_name,
        lag(offset_ns) over before as begin_ns,
        (offset_ns - lag(offset_ns) over before) / 1e9 as gap_s
    from staging.trace_rows
    window before as (partition by source_name order by offset_ns)
),

shapes as (
    select
        source_name,
        count(*) as gaps,
        count(*) filter (where gap_s = 0) as zero_gaps,
        avg(gap_s) as mean_gap_s,
        stddev_pop(gap_s) / nullif(avg(gap_s), 0) as gap_cv,
        max(gap_s) as longest_gap_s,
        arg_max(begin_ns, (gap_s, -begin_ns)) / 1e9 as longest_gap_at_s
    from gaps
    where gap_s is not null
    group by source_name
),

silences as (
    select
        source_name,
        count(*) as silences,
        sum(until_s - from_s) as silent_s,
        min(until_s - from_s) as shortest_s
    from marts.silences
    group by source_name
),

-- A gap is a silence or is shorter than the shortest of them.
busy as (
    select
        gaps.source_name,
        stddev_pop(gaps.gap_s) / nullif(avg(gaps.gap_s), 0) as gap_cv
    from gaps
    left join silences on silences.source_name = gaps.source_name
    where gaps.gap_s < coalesce(silences.shortest_s, 'infinity'::double)
    group by gaps.source_name
)

select
    shapes.source_name,
    shapes.gaps,
    shapes.zero_gaps,
    shapes.mean_gap_s,
    shapes.gap_cv,
    shapes.longest_gap_s,
    shapes.longest_gap_at_s,
    coalesce(silences.silences, 0) as silences,
    coalesce(silences.silent_s, 0) as silent_s,
    busy.gap_cv as busy_gap_cv
from shapes
left join busy on busy.source_name = shapes.source_name
left join silences on silences.source_name = shapes.source_name
