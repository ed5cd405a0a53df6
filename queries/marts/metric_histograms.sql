-- One row per histogram that servers counted: how many values, their mean, and the bounds between which a quantile lies. The mean is exact.
-- A quantile is known only up to its bucket. Engines and servers are added up over the bounds that all of them have. Counted is the growth
-- over all looks of the file, and since the earlier dump of the same process; with a single look, everything since the server started.
-- group: server
-- source_name      the file; of two dumps, the later
-- metric           the family
-- quantity         our word for it; null where we have none
-- model            served name
-- dimensions       labels that tell it from others of its family
-- is_since_start   true where there is one look only
-- observations     values counted
-- total            their sum: seconds or tokens, see quantity
-- mean             total / observations
-- p50_above        the median is above this; null: no lower bound
-- p50_up_to        and up to this; null: it is in the last bucket, so at least p50_above
-- p90_above, p90_up_to   the 90th percentile likewise
-- p95_above, p95_up_to   the 95th
-- p99_above, p99_up_to   the 99th
with grown as (
    select *
    from staging.metric_intervals
    where part <> 'value'
    -- The first look counts from the server's start, so it is used only if there is no other.
    qualify is_first = min(is_first::int) over (partition by source_name)::boolean
),

sums as (
    select
        source_name,
        metric,
        any_value(quantity) as quantity,
        model,
        dimensions,
        bool_and(is_first) as is_since_start,
        sum(increase) filter (where part = 'count') as observations,
        sum(increase) filter (where part = 'sum') as total
    from grown
    group by all
),

bounds as (
    select
        source_name,
        metric,
        model,
        dimensions,
        le,
        sum(increase) as up_to_le,
        count(*) as counters
    from grown
    where part = 'bucket'
    group by all
),

common as (
    select *
    from bounds
    qualify counters = max(counters) over (partition by source_name, metric, model, dimensions)
),

ranked as (
    select
        *,
        lag(le) over steps as above,
        coalesce(lag(up_to_le) over steps, 0) as before,
        max(up_to_le) over (partition by source_name, metric, model, dimensions) as all_values
    from common
    window steps as (partition by source_name, metric, model, dimensions order by le)
),

-- The bucket that the value of a rank lies in: the first that reaches it.
quantiles as (
    select
        source_name,
        metric,
        model,
        dimensions,
        list_transform(
            [0.5e0, 0.9e0, 0.95e0, 0.99e0],
            lambda p: list_filter(
                list(struct_pack(above := above, up_to := le, before := before, upper := up_to_le, all_values := all_values)),
                lambda bucket: bucket.before < p * bucket.all_values and p * bucket.all_values <= bucket.upper
            )[1]
        ) as buckets
    from ranked
    where all_values > 0
    group by all
)

select
    sums.source_name,
    sums.metric,
    sums.quantity,
    sums.model,
    sums.dimensions,
    sums.is_since_start,
    sums.observations,
    sums.total,
    sums.total / nullif(sums.observations, 0) as mean,
    quantiles.buckets[1].above as p50_above,
    case when isfinite(quantiles.buckets[1].up_to) then quantiles.buckets[1].up_to end as p50_up_to,
    quantiles.buckets[2].above as p90_above,
    case when isfinite(quantiles.buckets[2].up_to) then quantiles.buckets[2].up_to end as p90_up_to,
    quantiles.buckets[3].above as p95_above,
    case when isfinite(quantiles.buckets[3].up_to) then quantiles.buckets[3].up_to end as p95_up_to,
    quantiles.buckets[4].above as p99_above,
    case when isfinite(quantiles.buckets[4].up_to) then quantiles.buckets[4].up_to end as p99_up_to
from sums
left join quantiles
    on quantiles.source_name = sums.source_name
    and quantiles.metric = sums.metric
    and quantiles.model is not distinct from sums.model
    and quantiles.dimensions = sums.dimensions
