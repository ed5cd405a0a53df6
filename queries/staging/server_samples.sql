-- One row per instant and sampled series of a server or a GPU exporter that holds one of our quantities. Views ask for a quantity here and not
-- for an engine's own metric: seeds.metric_names says which metric of which engine means what.
--
-- A counter is exposed with _total, a histogram as _bucket, _sum and _count, and one whose own name ends in _total as all of that.
-- The exposed names are few, so they are joined by equality; a pattern for each sample would cost more than all the rest.
-- If a server reports a quantity under an old and a new name at once, the new one counts.
-- Kept per run.
-- group: server
-- run_id     the replay
-- at_s       when the answer was there, seconds since the run began; 0 is the look before the first request
-- url        address of the exposition; '' where a run does not say
-- quantity   our word for it, as in seeds.metric_names
-- part       'bucket', 'sum' or 'count' of a histogram, else 'value'
-- labels     'k="v",...' sorted by key; '' for none
-- value      in base units: seconds, bytes, tokens, W, J, Hz, ratios of 1
with exposed as (
    select
        metric_names.metric || suffixes.suffix as name,
        metric_names.quantity,
        suffixes.part,
        metric_names.factor,
        metric_names.priority
    from seeds.metric_names
    inner join (
        values
            ('gauge', '', 'value'),
            ('counter', '', 'value'),
            ('counter', '_total', 'value'),
            ('histogram', '_bucket', 'bucket'),
            ('histogram', '_sum', 'sum'),
            ('histogram', '_count', 'count'),
            ('histogram', '_total_bucket', 'bucket'),
            ('histogram', '_total_sum', 'sum'),
            ('histogram', '_total_count', 'count')
    ) as suffixes (kind, suffix, part)
        on suffixes.kind = metric_names.kind
    where metric_names.label is null
)

select
    samples.run_id,
    samples.at_s,
    samples.url,
    exposed.quantity,
    exposed.part,
    samples.labels,
    -- A bucket's bound is in its labels, and its value a number of requests.
    case when exposed.part in ('bucket', 'count') then samples.value else samples.value * exposed.factor end as value
from staging.samples
inner join exposed on exposed.name = samples.name
where samples.origin = 'server'
qualify exposed.priority = min(exposed.priority) over (partition by samples.run_id, samples.url, samples.at_s, exposed.quantity)
