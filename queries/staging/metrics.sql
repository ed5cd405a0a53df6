-- One row per finite value of a metrics file: a series at an instant.
-- Published per source.
-- group: server
-- source_id     the file
-- source_name   what the user calls it
-- scrape        0-based place of the exposition, or of the sample in its series, in the file
-- at_s          seconds since the file's first look, or since its own zero; null where it has no times
-- look          orders the looks of one file: at_s in nanoseconds, else scrape
-- name          as exposed
-- labels        'k="v",...' sorted by key
-- metric        the family it belongs to
-- part          'bucket', 'sum' or 'count' of a histogram or summary, else 'value'
-- quantity      our word for what it says; null where we have none
-- target        which server; '' where the file does not say
-- model         served name
-- engine        which of several engines
-- gpu           which GPU
-- exporter      address that a GPU was seen through
-- dimensions    the labels that are left
-- priority      if a file has a quantity under several names, the one with the smallest priority counts
-- value         as exposed
-- base_value    in seconds, bytes, tokens, W, J, Hz or ratios of 1, where quantity says what it is
select
    metrics.source_id,
    metric_series.source_name,
    metrics.scrape,
    metrics.at_ns / 1e9 as at_s,
    coalesce(metrics.at_ns, metrics.scrape) as look,
    metrics.name,
    metrics.labels,
    metric_series.metric,
    metric_series.part,
    metric_series.quantity,
    metric_series.target,
    metric_series.model,
    metric_series.engine,
    metric_series.gpu,
    metric_series.exporter,
    metric_series.dimensions,
    metric_series.priority,
    metrics.value,
    metrics.value * metric_series.factor as base_value
from raw.metrics
inner join staging.metric_series
    on metric_series.source_id = metrics.source_id
    and metric_series.name = metrics.name
    and metric_series.labels = metrics.labels
where isfinite(metrics.value)
