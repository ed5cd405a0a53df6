-- One row per request of a trace, in no particular order: one shape for every format. Ask here to read millions of rows part by part;
-- staging.arrivals numbers them in order, which takes a sort.
-- group: traces
-- source_id       number of the source
-- source_name     what the user calls it
-- line            1-based line of the file
-- offset_ns       since the trace's first arrival, nanoseconds
-- arrival_at      when it arrived; null where the trace has relative times
-- input_tokens    prompt, tokens
-- output_tokens   answer, tokens
-- session_id      requests of one session share it; null: a session of its own
-- turn            0-based place in the session
-- class           what the trace calls its kind
-- blocks          prefix block ids of the prompt; the last block may be partial
-- block_tokens    tokens of a block
with begins as (
    select
        source_id,
        min(arrival_ns) as first_ns
    from raw.arrivals
    group by source_id
)

select
    arrivals.source_id,
    sources.source_name,
    arrivals.line,
    arrivals.arrival_ns - begins.first_ns as offset_ns,
    sources.origin_at + to_microseconds(arrivals.arrival_ns // 1000) as arrival_at,
    arrivals.input_tokens,
    arrivals.output_tokens,
    arrivals.session_id,
    arrivals.turn,
    arrivals.class,
    arrivals.blocks,
    sources.block_tokens
from raw.arrivals
inner join staging.sources on sources.source_id = arrivals.source_id
inner join begins on begins.source_id = arrivals.source_id
