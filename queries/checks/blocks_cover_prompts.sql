-- A trace's prefix blocks cover its prompts up to less than one block: some traces
-- give no id to what is left behind the last whole block.
-- One row per request of a trace whose blocks do not. Replayed, such a prompt
-- would share less than the trace says, without any error. Where it is not known what
-- an id stands for, nothing can be said.
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
    and (len(arrivals.blocks) + 1) * sources.block_tokens <= arrivals.input_tokens
