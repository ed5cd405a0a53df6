-- One row per look at one server: its place in that server's history. Looks at the same process belong together, also across files. The
-- process is recognised by its start time and by when its first series was created; looks without times are ordered by their counters. If a
-- file does not say which process it looked at, its own looks are the whole history.
-- group: server
-- source_id   the file
-- target      which server, where the file says
-- look        the instant of staging.metrics
-- history     the server's
-- place       1-based place in the history
-- at_ns       instant, Unix nanoseconds, or since the file's own zero; null where it has no times
-- is_fresh    an earlier look of the same file was at another process: this one has counted since then, from zero
with looks as (
    select
        metrics.source_id,
        metric_series.target,
        coalesce(metrics.at_ns, metrics.scrape) as look,
        any_value(metrics.at_ns) as at_ns,
        max(metrics.value) filter (where metrics.name = 'process_start_time_seconds') as started_s,
        min(metrics.value) filter (where metrics.name like '%\_created' escape '\' and isfinite(metrics.value)) as created_s,
        sum(metrics.value) filter (where metric_series.is_counter and isfinite(metrics.value)) as counted
    from raw.metrics
    inner join staging.metric_series
        on metric_series.source_id = metrics.source_id
        and metric_series.name = metrics.name
        and metric_series.labels = metrics.labels
    group by all
),

-- Only a text exposition says which process it is of: answers of Prometheus contain just what was asked for.
identified as (
    select
        looks.source_id,
        looks.target,
        looks.look,
        looks.at_ns + coalesce(epoch_ns(sources.origin_at), 0) as at_ns,
        looks.counted,
        case
            when sources.format in ('prometheus', 'prometheus-json') and coalesce(looks.started_s, looks.created_s) is not null
                then concat_ws(' ', 'process', looks.target, looks.started_s, looks.created_s)
        end as process
    from looks
    inner join raw.sources on sources.source_id = looks.source_id
),

known as (
    select
        *,
        coalesce(process, concat_ws(' ', 'source', source_id, target)) as history,
        process is distinct from lag(process) over (partition by source_id, target order by look)
            and row_number() over (partition by source_id, target order by look) > 1 as is_fresh
    from identified
)

select
    source_id,
    target,
    look,
    history,
    row_number() over (
        partition by history
        order by at_ns nulls first, case when process is not null then counted end, source_id, look
    ) as place,
    at_ns,
    is_fresh and row_number() over (
        partition by history
        order by at_ns nulls first, case when process is not null then counted end, source_id, look
    ) = 1 as is_fresh
from known
