-- One row per request of a trace, in order of time: one shape for every format.
-- source_id       number of the source
-- source_name     what the user calls it
-- seq             0-based place in order of time; the file's order parts equal instants
-- offset_s        since the trace's first arrival, seconds
-- arrival_at      when it arrived; null where the trace has relative times
-- input_tokens    prompt, tokens
-- output_tokens   answer, tokens
-- session_id      requests of one session share it; null: a session of its own
-- turn            0-based place in the session
-- class           what the trace calls its kind
-- blocks          prefix block ids of the prompt; the last block may be partial
-- block_tokens    tokens of a block
select
    arrivals.source_id,
    sources.source_name,
    row_number() over in_time - 1 as seq,
    (arrivals.arrival_ns - first_value(arrivals.arrival_ns) over in_time) * 1e-9 as offset_s,
    sources.origin_at + to_microseconds(arrivals.arrival_ns // 1000) as arrival_at,
    arrivals.input_tokens,
    arrivals.output_tokens,
    arrivals.session_id,
    arrivals.turn,
    arrivals.class,
    arrivals.blocks,
    sources.block_tokens
from raw.arrivals
inner join staging.sources using (source_id)
window in_time as (partition by arrivals.source_id order by arrivals.arrival_ns, arrivals.line)
