-- One row per source of metrics: whether a plan can be made from it. A server counts from its start, so the difference of two looks at the same
-- process is traffic, whether the looks are in one file or in two.
-- group: server
-- source_name    what the user calls it
-- earlier        the file of the look before its first; null: none of the same process is here
-- looks          at servers, in it
-- prompts        requests whose prompts were counted between looks; null: it has no histogram of them
-- answers        requests whose answers were
-- has_times      it says when, so that rates follow as well
with looks as (
    select
        source_id,
        look,
        at_ns,
        lag(source_id) over (partition by history order by place) as before_id
    from staging.metric_looks
),

histories as (
    select
        looks.source_id,
        count(*) as looks,
        max(earlier.source_name) as earlier
    from looks
    left join staging.sources as earlier on earlier.source_id = looks.before_id
        and earlier.source_id <> looks.source_id
    group by looks.source_id
),

counted as (
    select
        source_id,
        quantity,
        coalesce(sum(increase) filter (where not is_first), 0) as requests,
        coalesce(bool_or(from_s is not null and not is_first), false) as has_times
    from staging.metric_intervals
    where quantity in ('input_tokens', 'output_tokens')
        and part = 'count'
    group by
        source_id,
        quantity,
        priority
    qualify priority = min(priority) over (partition by source_id, quantity)
)

select
    sources.source_name,
    any_value(histories.earlier) as earlier,
    any_value(histories.looks) as looks,
    max(counted.requests) filter (where counted.quantity = 'input_tokens') as prompts,
    max(counted.requests) filter (where counted.quantity = 'output_tokens') as answers,
    coalesce(bool_or(counted.has_times), false) as has_times
from staging.sources
inner join histories on histories.source_id = sources.source_id
left join counted on counted.source_id = sources.source_id
group by sources.source_name
