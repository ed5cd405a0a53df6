-- One row per service, week and class or model of requests.
-- service, week          the service; ISO week in its zone
-- class                  class, else the model asked for, else empty
-- requests               that arrived
-- input_tokens           of prompts, tokens
-- output_tokens          of answers, tokens
-- requests_share, input_tokens_share, output_tokens_share  of the week's
-- requests_growth_ratio  over the week before, minus 1, in the hours that both cover; null: there is none, or it had none of the class
with sums as (
    select
        service,
        week,
        class,
        count(*) as requests,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens
    from portable.requests
    where not is_copy
    group by service, week, class
),

by_hour as (
    select
        service,
        hour_start,
        class,
        count(*) as requests
    from portable.requests
    where not is_copy
    group by service, hour_start, class
),

now as (
    select
        pairs.service,
        pairs.week,
        by_hour.class,
        sum(by_hour.requests) as requests
    from portable.paired_hours as pairs
    inner join by_hour on by_hour.service = pairs.service
        and by_hour.hour_start = pairs.hour_start
    group by pairs.service, pairs.week, by_hour.class
),

before as (
    select
        pairs.service,
        pairs.week,
        by_hour.class,
        sum(by_hour.requests) as requests
    from portable.paired_hours as pairs
    inner join by_hour on by_hour.service = pairs.service
        and by_hour.hour_start = pairs.last_hour_start
    group by pairs.service, pairs.week, by_hour.class
)

select
    sums.service,
    sums.week,
    sums.class,
    sums.requests,
    sums.input_tokens,
    sums.output_tokens,
    cast(sums.requests as double) / sum(sums.requests) over (partition by sums.service, sums.week) as requests_share,
    cast(sums.input_tokens as double) / nullif(sum(sums.input_tokens) over (partition by sums.service, sums.week), 0) as input_tokens_share,
    cast(sums.output_tokens as double) / nullif(sum(sums.output_tokens) over (partition by sums.service, sums.week), 0) as output_tokens_share,
    coalesce(now.requests, 0) / cast(before.requests as double) - 1 as requests_growth_ratio
from sums
left join now on now.service = sums.service
    and now.week = sums.week
    and now.class = sums.class
left join before on before.service = sums.service
    and before.week = sums.week
    and before.class = sums.class
