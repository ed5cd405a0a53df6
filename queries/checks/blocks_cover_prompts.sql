-- A trace's prefix blocks cover its prompts, except for less than one block at the end: some traces give no id to a last block that is not
-- full. One row per request whose blocks cover less. In a replay such a prompt would share less than the trace says, without any error. A
-- trace that does not say how many tokens an id stands for is not checked.
--
-- group: trust
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
