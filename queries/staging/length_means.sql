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
)

select
    source_id,
    window_from_s,
    window_until_s,
    class,
    quantity,
    sum(increase) filter (where part = 'sum') / sum(increase) filter (where part = 'count') as mean_tokens,
    sum(increase) filter (where part = 'count') as requests
from macros.counted_windows('grown')
group by all
having sum(increase) filter (where part = 'count') > 0 and sum(increase) filter (where part = 'sum') > 0
