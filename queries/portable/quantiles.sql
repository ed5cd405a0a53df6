-- One row per service, week and quantile of lengths, beside the week before.
-- service, week  the service; ISO week in its zone
-- name           'p50 input_tokens' to 'p99 output_tokens'
-- this           of the requests that did not fail and have an answer, tokens
-- before         of those of the week before
-- ratio          this over before, minus 1
with lengths as (
    select
        service,
        week,
        count(*) as requests,
        percentile_cont(0.5) within group (order by input_tokens) as p50_input_tokens,
        percentile_cont(0.9) within group (order by input_tokens) as p90_input_tokens,
        percentile_cont(0.99) within group (order by input_tokens) as p99_input_tokens,
        percentile_cont(0.5) within group (order by output_tokens) as p50_output_tokens,
        percentile_cont(0.9) within group (order by output_tokens) as p90_output_tokens,
        percentile_cont(0.99) within group (order by output_tokens) as p99_output_tokens
    from portable.requests
    where is_measured
        and not is_copy
    group by service, week
),

named as (
    select service, week, 'p50 input_tokens' as name, p50_input_tokens as tokens from lengths
    union all
    select service, week, 'p90 input_tokens' as name, p90_input_tokens as tokens from lengths
    union all
    select service, week, 'p99 input_tokens' as name, p99_input_tokens as tokens from lengths where requests >= 100
    union all
    select service, week, 'p50 output_tokens' as name, p50_output_tokens as tokens from lengths
    union all
    select service, week, 'p90 output_tokens' as name, p90_output_tokens as tokens from lengths
    union all
    select service, week, 'p99 output_tokens' as name, p99_output_tokens as tokens from lengths where requests >= 100
)

select
    now.service,
    now.week,
    now.name,
    now.tokens as this,
    before.tokens as before,
    now.tokens / nullif(before.tokens, 0) - 1 as ratio
from named as now
inner join portable.weeks_known as known on known.service = now.service
    and known.week = now.week
left join named as before on before.service = now.service
    and before.week = known.last_week
    and before.name = now.name
