-- A trace's prefix blocks cover its prompts: ids x block size >= prompt tokens.
-- One row per request of a trace whose blocks do not. Replayed, such a prompt
-- would be shorter than the trace says, without any error.
--
-- source_name    the trace
-- line           the request's line in its file
-- input_tokens   prompt length, tokens
-- block_count    ids it has
-- block_tokens   tokens that an id stands for
select
    sources.name as source_name,
    arrivals.line,
    arrivals.input_tokens,
    len(arrivals.blocks) as block_count,
    sources.block_tokens,
from raw.arrivals
join raw.sources using (source_id)
where arrivals.blocks is not null
    and (sources.block_tokens is null or len(arrivals.blocks) * sources.block_tokens < arrivals.input_tokens)
