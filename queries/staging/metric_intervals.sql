-- One row per counter, or part of a histogram, and look at its server: how much it grew since the look before. A series that was absent
-- before counts as zero. A series that fell started again with its server. A series that was large and reads zero was lost: its writer
-- could not print it, and its growth counts when it is back. A file may look at some names more rarely than at others, and it may have
-- gaps: the look before is the last one that had the name, so that what was counted across a gap belongs to the gap. A bucket is the
-- same one whether its bound is written 1 or 1.0.
-- group: server
-- source_id     the file of the look
-- source_name   what the user calls it
-- history       the server's, see staging.metric_looks
-- place         place of the look in it
-- from_s        the look before at this name, seconds since the origin of the look's file; null without times
-- until_s       the look, likewise
-- rhythm_s      usual time between two looks of the file at this name; a gap is longer
-- name          as exposed
-- labels        'k="v",...' sorted by key
-- metric        the family it belongs to
-- part          'bucket', 'sum' or 'count' of a histogram or summary, else 'value'
-- le            upper bound of a bucket, in base units
-- quantity      our word for what it says; null where we have none
-- priority      if a file has a quantity under several names, the one with the smallest priority counts
-- model         served name
-- engine        which of several engines
-- target        which server
-- gpu           which GPU
-- dimensions    the labels that are left
-- increase      by how much it grew; sums in base units. On a first look: all that it has counted so far
-- is_first      there is no look before: since its server began
-- is_reset      it fell, so its server was started again in between
-- is_lost       it reads zero and was large
with series as materialized (
    select
        *,
        dense_rank() over (order by name) as name_number,
        dense_rank() over (order by name, labels) as spelling,
        dense_rank() over (
            order by name, le, case when part = 'bucket' then regexp_replace(macros.without_ranks(labels), '(^|,)le="[^"]*"', '') else macros.without_ranks(labels) end
        ) as series
    from staging.metric_series
    where is_counter
),

looks as materialized (
    select
        metric_looks.*,
        dense_rank() over (order by metric_looks.history) as server,
        coalesce(epoch_ns(sources.origin_at), 0) as origin_ns,
        lag(metric_looks.at_ns) over (partition by metric_looks.history order by metric_looks.place) as before_ns,
        min(metric_looks.at_ns) over (partition by metric_looks.history) as began_ns,
        bool_or(metric_looks.is_fresh) over (partition by metric_looks.history) as is_from_zero
    from staging.metric_looks
    inner join raw.sources on sources.source_id = metric_looks.source_id
),

-- Numbers for names: there may be a hundred million values. While a collector changes how it writes a bound, it may show both.
counted as materialized (
    select
        metrics.source_id,
        looks.server,
        looks.place,
        series.name_number,
        series.series,
        arg_max(series.spelling, metrics.value) as spelling,
        max(metrics.value) as value
    from raw.metrics
    inner join series
        on series.source_id = metrics.source_id
        and series.name = metrics.name
        and series.labels = metrics.labels
    inner join looks
        on looks.source_id = metrics.source_id
        and looks.target = series.target
        and looks.look = coalesce(metrics.at_ns, metrics.scrape)
    where isfinite(metrics.value)
    group by all
),

-- The looks that had a name. A name that is looked at more rarely than others is first seen within its rhythm after the server.
named as (
    select
        looked.source_id,
        looked.server,
        looked.name_number,
        looked.place,
        looks.at_ns,
        looks.origin_ns,
        looks.began_ns,
        looks.before_ns as any_before_ns,
        looks.is_from_zero,
        lag(looks.at_ns) over (partition by looked.server, looked.name_number order by looked.place) as before_ns,
        row_number() over (partition by looked.server, looked.name_number order by looked.place) = 1 as is_new
    from (select distinct source_id, server, name_number, place from counted) as looked
    inner join looks
        on looks.source_id = looked.source_id
        and looks.server = looked.server
        and looks.place = looked.place
),

rhythms as (
    select
        source_id,
        name_number,
        median(at_ns - before_ns)::bigint as rhythm_ns
    from named
    group by all
),

spans as (
    select
        named.source_id,
        named.server,
        named.name_number,
        named.place,
        case
            when not named.is_new then named.before_ns
            when named.any_before_ns is null then null
            when rhythms.rhythm_ns is null then named.any_before_ns
            else least(named.any_before_ns, greatest(named.began_ns, named.at_ns - rhythms.rhythm_ns))
        end - named.origin_ns as from_ns,
        named.at_ns - named.origin_ns as until_ns,
        rhythms.rhythm_ns,
        named.is_new
            and not named.is_from_zero
            and (named.place = 1 or coalesce(named.at_ns - named.began_ns < rhythms.rhythm_ns, false)) as is_first
    from named
    inner join rhythms using (source_id, name_number)
),

peaked as (
    select
        *,
        max(value) over (
            partition by server, series
            order by place
            rows between unbounded preceding and 1 preceding
        ) as peak
    from counted
),

-- Python writes a million as 1e+06, and readers that fail on exponents read that as zero; below a million they are right.
kept as (
    select
        *,
        value = 0 and coalesce(peak, 0) >= 1e5 as is_lost,
        last_value(case when value <> 0 or coalesce(peak, 0) < 1e5 then value end ignore nulls) over (
            partition by server, series
            order by place
            rows between unbounded preceding and 1 preceding
        ) as last_value
    from peaked
)

select
    kept.source_id,
    series.source_name,
    looks.history,
    kept.place,
    case when not spans.is_first then spans.from_ns / 1e9 end as from_s,
    spans.until_ns / 1e9 as until_s,
    spans.rhythm_ns / 1e9 as rhythm_s,
    series.name,
    series.labels,
    series.metric,
    series.part,
    series.le * series.factor as le,
    series.quantity,
    series.priority,
    series.model,
    series.engine,
    series.target,
    series.gpu,
    series.dimensions,
    case
        when kept.is_lost then 0
        else macros.counter_growth(kept.value, coalesce(kept.last_value, 0))
    end * case when series.part in ('bucket', 'count') then 1 else series.factor end as increase,
    spans.is_first,
    not kept.is_lost and kept.value < coalesce(kept.last_value, 0) as is_reset,
    kept.is_lost
from kept
inner join series
    on series.source_id = kept.source_id
    and series.spelling = kept.spelling
inner join spans
    on spans.source_id = kept.source_id
    and spans.server = kept.server
    and spans.name_number = kept.name_number
    and spans.place = kept.place
inner join looks
    on looks.source_id = kept.source_id
    and looks.target = series.target
    and looks.server = kept.server
    and looks.place = kept.place
