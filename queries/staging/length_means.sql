-- One row per time between two looks at a server's counters, class and length: the mean of the lengths that it counted in it, by _sum and _count of
-- its histogram. The buckets say how lengths are spread, and not where they lie inside a bucket: this does.
-- group: traces
-- source_id      the file, as in staging.length_cells
-- window_from_s  seconds since the first look, or the file's own zero; null: all of the source
-- window_until_s  its end
-- class          the model, where the file has several
-- quantity       'input_tokens' or 'output_tokens'
-- mean_tokens    mean of the lengths
-- requests       that were counted
with grown as (
    select
        source_id,
        from_s,
        until_s,
        quantity,
        part,
        priority,
        model,
        increase
    from staging.metric_intervals
    where quantity in ('input_tokens', 'output_tokens') and part in ('sum', 'count') and not is_first
),

firsts as (
    select
        source_id,
        quantity,
        min(priority) as priority,
        min(from_s) as begin_s,
        count(distinct model) > 1 as has_models
    from grown
    group by all
)

select
    grown.source_id,
    grown.from_s - firsts.begin_s as window_from_s,
    grown.until_s - firsts.begin_s as window_until_s,
    case when firsts.has_models then grown.model end as class,
    grown.quantity,
    sum(grown.increase) filter (where grown.part = 'sum') / sum(grown.increase) filter (where grown.part = 'count') as mean_tokens,
    sum(grown.increase) filter (where grown.part = 'count') as requests
from grown
inner join firsts using (source_id, quantity, priority)
group by all
having sum(grown.increase) filter (where grown.part = 'count') > 0 and sum(grown.increase) filter (where grown.part = 'sum') > 0
