-- One row per counter, or part of a histogram, and look at its server: by how much it grew since the look before.
-- A series that was absent was zero. One that fell began anew. One that was large and reads zero was not read: its
-- writer could not print it; it is counted on from where it was when it is there again.
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
-- priority      where one file says a quantity under several names, the smallest is taken
-- model         served name
-- engine        which of several engines
-- target        which server
-- gpu           which GPU
-- dimensions    the labels that are left
-- increase      by how much it grew; sums in base units. On a first look: all that it has counted so far
-- is_first      there is no look before: since its server began
-- is_reset      it fell, so its server began anew in between
-- is_lost       it reads zero and was large
with counted as (
    select
        metrics.source_id,
        metric_looks.history,
        metric_looks.place,
        metric_looks.is_fresh,
        metrics.name,
        metrics.labels,
        metrics.value,
        max(metrics.value) over earlier as peak
    from raw.metrics
    inner join staging.metric_series
        on metric_series.source_id = metrics.source_id
        and metric_series.name = metrics.name
        and metric_series.labels = metrics.labels
    inner join staging.metric_looks
        on metric_looks.source_id = metrics.source_id
        and metric_looks.target = metric_series.target
        and metric_looks.look = coalesce(metrics.at_ns, metrics.scrape)
    where metric_series.is_counter and isfinite(metrics.value)
    window earlier as (
        partition by metric_looks.history, metrics.name, metrics.labels
        order by metric_looks.place
        rows between unbounded preceding and 1 preceding
    )
),

-- Up to here a reader that fails on exponents prints what is; Python writes 1e+06 from a million on.
kept as (
    select
        *,
        value = 0 and coalesce(peak, 0) >= 1e5 as is_lost,
        last_value(case when value <> 0 or coalesce(peak, 0) < 1e5 then value end ignore nulls) over (
            partition by history, name, labels
            order by place
            rows between unbounded preceding and 1 preceding
        ) as last_value
    from counted
),

spans as (
    select
        metric_looks.source_id,
        metric_looks.target,
        metric_looks.history,
        metric_looks.place,
        (lag(metric_looks.at_ns) over (partition by metric_looks.history order by metric_looks.place) - coalesce(epoch_ns(sources.origin_at), 0)) / 1e9 as from_s,
        (metric_looks.at_ns - coalesce(epoch_ns(sources.origin_at), 0)) / 1e9 as until_s
    from staging.metric_looks
    inner join raw.sources on sources.source_id = metric_looks.source_id
)

select
    kept.source_id,
    metric_series.source_name,
    kept.history,
    kept.place,
    spans.from_s,
    spans.until_s,
    kept.name,
    kept.labels,
    metric_series.metric,
    metric_series.part,
    metric_series.le * metric_series.factor as le,
    metric_series.quantity,
    metric_series.priority,
    metric_series.model,
    metric_series.engine,
    metric_series.target,
    metric_series.gpu,
    metric_series.dimensions,
    case
        when kept.is_lost then 0
        when kept.value >= coalesce(kept.last_value, 0) then kept.value - coalesce(kept.last_value, 0)
        else kept.value
    end * case when metric_series.part in ('bucket', 'count') then 1 else metric_series.factor end as increase,
    kept.place = 1 and not kept.is_fresh as is_first,
    not kept.is_lost and kept.value < coalesce(kept.last_value, 0) as is_reset,
    kept.is_lost
from kept
inner join staging.metric_series
    on metric_series.source_id = kept.source_id
    and metric_series.name = kept.name
    and metric_series.labels = kept.labels
inner join spans
    on spans.source_id = kept.source_id
    and spans.history = kept.history
    and spans.place = kept.place
