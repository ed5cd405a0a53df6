-- One row per trace and kind of length (prompt or answer) that was probably cut off: many requests have the largest value. A request is at
-- the ceiling if its length is one of the three largest possible values up to it. There must be at least ten of them, and five times as
-- many as the lengths within a tenth below suggest. If more than half of all requests are there, the length was chosen and not cut.
-- group: traces
-- source_name   what the user calls it
-- length        'prompt' or 'answer'
-- ceiling_tokens   the largest value
-- least_tokens  the smallest that counts as at the ceiling and is there
-- requests      at the ceiling
-- ratio         their share of all requests
-- usual         requests that the lengths below it would bring
with lengths as (
    select
        source_name,
        'prompt' as length,
        input_tokens as tokens
    from staging.trace_rows
    union all
    select
        source_name,
        'answer',
        output_tokens
    from staging.trace_rows
),

counted as (
    select
        source_name,
        length,
        tokens,
        count(*) as requests
    from lengths
    group by
        source_name,
        length,
        tokens
),

ceilings as (
    select
        source_name,
        length,
        max(tokens) as ceiling,
        sum(requests) as requests
    from counted
    group by
        source_name,
        length
),

crowds as (
    select
        counted.source_name,
        counted.length,
        any_value(ceilings.ceiling) as ceiling_tokens,
        min(counted.tokens) filter (where counted.tokens > ceilings.ceiling - 3) as least_tokens,
        sum(counted.requests) filter (where counted.tokens > ceilings.ceiling - 3) as requests,
        any_value(ceilings.requests) as all_requests,
        coalesce(sum(counted.requests) filter (where counted.tokens between 0.9e0 * ceilings.ceiling and ceilings.ceiling - 3), 0)
        * 3 / greatest(1, 0.1e0 * any_value(ceilings.ceiling) - 2) as usual
    from counted
    inner join ceilings on ceilings.source_name = counted.source_name
        and ceilings.length = counted.length
    group by
        counted.source_name,
        counted.length
)

select
    source_name,
    length,
    ceiling_tokens,
    least_tokens,
    requests::bigint as requests,
    requests / all_requests::double as ratio,
    usual
from crowds
where ceiling_tokens >= 100
    and requests >= 10
    and requests >= 5 * usual
    and 2 * requests <= all_requests
