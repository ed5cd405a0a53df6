-- One row per counter, or part of a histogram, and look at its server: how much it grew since the look before. A series that was absent
-- before counts as zero. A series that fell started again with its server. A series that was large and reads zero was lost: its writer
-- could not print it, and its growth counts when it is back.
-- group: server
-- source_id     the file of the look
-- source_name   what the user calls it
-- history       the server's, see staging.metric_looks
-- place         place of the look in it
-- from_s        the look before, seconds since the origin of the look's file; null without times
-- until_s       the look, likewise
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
        dense_rank() over (order by name, labels) as series
    from staging.metric_series
    where is_counter
),

looks as materialized (
    select
        metric_looks.*,
        dense_rank() over (order by metric_looks.history) as server,
        (lag(metric_looks.at_ns) over (partition by metric_looks.history order by metric_looks.place) - coalesce(epoch_ns(sources.origin_at), 0)) / 1e9 as from_s,
        (metric_looks.at_ns - coalesce(epoch_ns(sources.origin_at), 0)) / 1e9 as until_s
    from staging.metric_looks
    inner join raw.sources on sources.source_id = metric_looks.source_id
),

-- Numbers for names: there may be a hundred million values.
counted as (
    select
        metrics.source_id,
        looks.server,
        looks.place,
        series.series,
        metrics.value
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
    looks.from_s,
    looks.until_s,
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
        when kept.value >= coalesce(kept.last_value, 0) then kept.value - coalesce(kept.last_value, 0)
        else kept.value
    end * case when series.part in ('bucket', 'count') then 1 else series.factor end as increase,
    kept.place = 1 and not looks.is_fresh as is_first,
    not kept.is_lost and kept.value < coalesce(kept.last_value, 0) as is_reset,
    kept.is_lost
from kept
inner join series
    on series.source_id = kept.source_id
    and series.series = kept.series
inner join looks
    on looks.source_id = kept.source_id
    and looks.target = series.target
    and looks.server = kept.server
    and looks.place = kept.place
