-- One row per request of a trace, in order of time.
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
    source_id,
    source_name,
    row_number() over (partition by source_name order by offset_ns, line) - 1 as seq,
    offset_ns / 1e9 as offset_s,
    arrival_at,
    input_tokens,
    output_tokens,
    session_id,
    turn,
    class,
    blocks,
    block_tokens
from staging.trace_rows
