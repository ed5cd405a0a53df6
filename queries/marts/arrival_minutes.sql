-- One row per source and minute in which requests arrived: the traffic's shape.
-- group: traces
-- source_name     what the user calls it
-- minute          0-based minute since the trace's first arrival
-- requests        arrivals in it
-- input_tokens    of their prompts, tokens
-- output_tokens   of their answers, tokens
select
    source_name,
    offset_ns // 60_000_000_000 as minute,
    count(*) as requests,
    sum(input_tokens)::bigint as input_tokens,
    sum(output_tokens)::bigint as output_tokens
from staging.trace_rows
group by
    source_name,
    minute
