-- One row per instant and sampled series of a server or a GPU exporter that holds one of our quantities. Views ask for a quantity here and not
-- for an engine's own metric: seeds.metric_names says which metric of which engine means what.
--
-- A counter is exposed with _total, a histogram as _bucket, _sum and _count, and one whose own name ends in _total as all of that.
-- The exposed names are few, so they are joined by equality; a pattern for each sample would cost more than all the rest.
-- If a server reports a quantity under an old and a new name at once, the new one counts. Series that repeat one another are one: ranks of
-- one scheduler, processes of one front end, and pods that share a GPU. Power, clocks, temperature and energy are of the whole card; what is
-- measured of an instance of it (MIG) stays one row for each.
-- Kept per run.
-- group: server
-- run_id     the replay
-- at_s       when the answer was there, seconds since the run began; 0 is the look before the first request
-- url        address of the exposition; '' where a run does not say
-- quantity   our word for it, as in seeds.metric_names
-- part       'bucket', 'sum' or 'count' of a histogram, else 'value'
-- labels     'k="v",...' sorted by key, without those in which repeated series differ; '' for none
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
),

said as (
    select
        samples.run_id,
        samples.at_s,
        samples.url,
        exposed.quantity,
        exposed.part,
        samples.labels,
        -- A bucket's bound is in its labels, and its value a number of requests.
        case when exposed.part in ('bucket', 'count') then samples.value else samples.value * exposed.factor end as value,
        starts_with(exposed.quantity, 'gpu_') as is_of_gpu,
        starts_with(exposed.quantity, 'gpu_') or contains(samples.labels, '_rank="') or contains(samples.labels, 'pid="') as may_repeat
    from staging.samples
    inner join exposed on exposed.name = samples.name
    where samples.origin = 'server'
    qualify exposed.priority = min(exposed.priority) over (partition by samples.run_id, samples.url, samples.at_s, exposed.quantity)
)

select
    run_id,
    at_s,
    url,
    quantity,
    part,
    labels,
    value
from said
where not may_repeat
union all
select
    run_id,
    at_s,
    url,
    quantity,
    part,
    case
        when is_of_gpu
            then macros.gpu_labels(
                labels,
                quantity not in ('gpu_power_w', 'gpu_energy_j', 'gpu_sm_clock_hz', 'gpu_memory_clock_hz', 'gpu_temperature_c', 'gpu_throttle_reasons')
            )
        else macros.without_processes(macros.without_ranks(labels))
    end as labels,
    max(value) as value
from said
where may_repeat
group by all
