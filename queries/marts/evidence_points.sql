-- One row per measurement of another tool and figure that a diagnosis looks at. Such a file has no single requests, so only figures that
-- follow from its means and percentiles are here. By Little's law the share TTFT / (TTFT + (answer tokens - 1) * TPOT) of a closed loop's
-- clients waits for a first token. staging.evidence_figures says what each figure is.
-- group: diagnosis
-- source_name   the file
-- point         0-based place in it
-- figure        name of the figure
-- value         in its unit
with told as (
    select
        source_name,
        point,
        -- If a quantity has several definitions, the first by name is used for all its statistics.
        max(value) filter (where quantity = 'ttft_s' and statistic = 'mean') as mean_ttft_s,
        max(value) filter (where quantity = 'ttft_s' and statistic = 'p50') as p50_ttft_s,
        max(value) filter (where quantity = 'ttft_s' and statistic = 'p99') as p99_ttft_s,
        max(value) filter (where quantity = 'tpot_s' and statistic = 'mean') as tpot_s,
        max(value) filter (where quantity = 'itl_s' and statistic = 'p50') as p50_itl_s,
        max(value) filter (where quantity = 'itl_s' and statistic = 'p99') as p99_itl_s
    from (
        select *
        from marts.figures
        where quantity in ('ttft_s', 'tpot_s', 'itl_s')
        qualify definition_id = min(definition_id) over (partition by source_name, point, quantity)
    ) as each
    group by
        source_name,
        point
),

known as (
    select
        points.source_name,
        points.point,
        points.completed,
        points.failed / nullif(points.requests, 0) as failed_ratio,
        case when points.load = 'closed' or points.load is null then points.max_concurrency end as concurrency,
        told.p50_ttft_s,
        told.p99_ttft_s,
        told.tpot_s,
        told.p50_itl_s,
        told.p99_itl_s,
        told.mean_ttft_s,
        nullif((coalesce(points.total_output_tokens / nullif(points.completed, 0), points.output_tokens_asked) - 1) * told.tpot_s, 0) as decode_s
    from staging.points
    left join told on told.source_name = points.source_name and told.point = points.point
)

select
    source_name,
    point,
    unnest(macros.known_figures([
        {'figure': 'completed', 'value': completed::double},
        {'figure': 'failed_ratio', 'value': failed_ratio},
        {'figure': 'concurrency', 'value': concurrency},
        {'figure': 'p50_ttft_s', 'value': p50_ttft_s},
        {'figure': 'p99_ttft_s', 'value': p99_ttft_s},
        {'figure': 'ttft_tail_ratio', 'value': p99_ttft_s / nullif(p50_ttft_s, 0)},
        {'figure': 'tpot_s', 'value': tpot_s},
        {'figure': 'p99_itl_s', 'value': p99_itl_s},
        {'figure': 'itl_tail_ratio', 'value': p99_itl_s / nullif(p50_itl_s, 0)},
        {'figure': 'waiting_clients_ratio', 'value': mean_ttft_s / (mean_ttft_s + decode_s)},
        {'figure': 'ttft_over_decode_ratio', 'value': mean_ttft_s / decode_s}
    ]), recursive := true)
from known
