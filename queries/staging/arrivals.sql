-- One row per request of a trace, in order of time.
-- Published per source.
-- group: traces
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
-- think_s         from the end of the session's turn before to this request, seconds; null where the trace does not say
-- parent_session_id  session that began this one, as a main agent its sub-agent; on its first turn
-- parent_turn     turn of that session after which it began
-- model           as asked for
-- is_failed       whether it failed there; null where the trace does not say
-- ttft_s          first token, as the trace's own server took it, seconds
-- e2e_s           whole answer, likewise, seconds
-- cached_tokens   prompt tokens found in a cache, likewise
-- tenant          pseudonym of whose request it was
select
    trace_rows.source_id,
    trace_rows.source_name,
    row_number() over (partition by trace_rows.source_name order by trace_rows.offset_ns, trace_rows.line) - 1 as seq,
    trace_rows.offset_ns / 1e9 as offset_s,
    trace_rows.arrival_at,
    trace_rows.input_tokens,
    trace_rows.output_tokens,
    trace_rows.session_id,
    trace_rows.turn,
    trace_rows.class,
    trace_rows.blocks,
    trace_rows.block_tokens,
    details.think_s,
    details.parent_session_id,
    details.parent_turn,
    details.model,
    details.is_failed,
    details.ttft_s,
    details.e2e_s,
    details.cached_tokens,
    details.tenant
from staging.trace_rows
left join raw.arrival_details as details on details.source_id = trace_rows.source_id
    and details.line = trace_rows.line
