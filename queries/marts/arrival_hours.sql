-- One row per trace and hour of the day that it reaches into: the shape of its day.
-- group: traces
-- source_name       what the user calls it
-- hour              0 to 23, UTC; of a trace without dates since its first arrival
-- covered_s         how long the trace lasts in that hour, over all its days, seconds
-- requests          arrivals in it
-- mean_rate_per_s   requests per second of that time; null for no time
-- input_tokens      of their prompts, tokens
-- output_tokens     of their answers, tokens
with spans as (
    select
        source_name,
        coalesce(epoch_us(min(arrival_at)) % 86_400_000_000 * 1000, 0) as begin_ns,
        max(offset_ns) as length_ns
    from staging.trace_rows
    group by source_name
),

hours as (
    select
        source_name,
        begin_ns,
        begin_ns + length_ns as end_ns,
        unnest(range(begin_ns // 3_600_000_000_000, (begin_ns + length_ns) // 3_600_000_000_000 + 1)) as nth
    from spans
),

arrivals as (
    select
        rows.source_name,
        (spans.begin_ns + rows.offset_ns) // 3_600_000_000_000 as nth,
        count(*) as requests,
        sum(rows.input_tokens)::bigint as input_tokens,
        sum(rows.output_tokens)::bigint as output_tokens
    from staging.trace_rows as rows
    inner join spans on spans.source_name = rows.source_name
    group by
        rows.source_name,
        nth
),

covered as (
    select
        hours.source_name,
        hours.nth % 24 as hour,
        (least(hours.end_ns, (hours.nth + 1) * 3_600_000_000_000) - greatest(hours.begin_ns, hours.nth * 3_600_000_000_000)) / 1e9 as covered_s,
        coalesce(arrivals.requests, 0) as requests,
        coalesce(arrivals.input_tokens, 0) as input_tokens,
        coalesce(arrivals.output_tokens, 0) as output_tokens
    from hours
    left join arrivals on arrivals.source_name = hours.source_name
        and arrivals.nth = hours.nth
)

select
    source_name,
    hour,
    sum(covered_s) as covered_s,
    sum(requests)::bigint as requests,
    sum(requests) / nullif(sum(covered_s), 0) as mean_rate_per_s,
    sum(input_tokens)::bigint as input_tokens,
    sum(output_tokens)::bigint as output_tokens
from covered
group by
    source_name,
    hour
