-- One row per service, week, side of a request and bin of lengths: 64 bins to a doubling. Counts of weeks, services and lakes add up exactly.
-- service, week  the service; ISO week in its zone
-- figure         'input_tokens' or 'output_tokens'
-- bin            64 times the binary logarithm of the tokens, rounded
-- requests       whose lengths count and lie in it
with lengths as (
    select service, week, 'input_tokens' as figure, input_tokens as tokens from portable.requests where is_measured and not is_copy
    union all
    select service, week, 'output_tokens' as figure, output_tokens as tokens from portable.requests where is_measured and not is_copy
)

select
    service,
    week,
    figure,
    cast(round(64 * log2(greatest(tokens, 1))) as int) as bin,
    count(*) as requests
from lengths
group by all
