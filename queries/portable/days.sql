-- One row per service and local day of a week with a report.
-- service, week    the service; ISO week in its zone
-- day              0 Monday to 6 Sunday
-- requests         that arrived; null: the whole day is missing
-- input_tokens     of prompts, tokens
-- output_tokens    of answers, tokens
-- peak_rate_per_s  its busiest five minutes, requests per second
-- missing_hours    hours without data
select
    service,
    week,
    day,
    cast(sum(requests) as bigint) as requests,
    cast(sum(input_tokens) as bigint) as input_tokens,
    cast(sum(output_tokens) as bigint) as output_tokens,
    max(peak_rate_per_s) as peak_rate_per_s,
    count(*) filter (where is_missing) as missing_hours
from portable.hours
group by service, week, day
