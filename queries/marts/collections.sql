-- One row per collection of traces, such as the sessions of a folder: what its files hold together.
-- group: traces
-- collection       what the user calls it
-- sources          files
-- requests         of all of them
-- has_starts       the files have absolute times; else each counts from its own start, and when that was is not known
-- copies           files with the same content as an earlier one, except for session names and block ids
-- groups           of files with the same content
-- without_answer   requests whose answer has no token
-- beyond_128k      requests of more than 131,072 tokens, prompt and answer
-- beyond_256k      of more than 262,144
-- longest_tokens   of one request, prompt and answer
-- p50_requests     of a file, median
-- p50_input_tokens   prompt, median, tokens
-- p50_output_tokens   answer, median, tokens
with contents as (
    select
        sources.collection,
        rows.source_id,
        count(*) as requests,
        bool_or(rows.arrival_at is not null) as is_dated,
        bit_xor(hash(rows.line, rows.offset_ns, rows.input_tokens, rows.output_tokens, rows.turn, rows.class, len(rows.blocks))) as content
    from staging.trace_rows as rows
    inner join staging.sources on sources.source_id = rows.source_id
    where sources.collection is not null
    group by
        sources.collection,
        rows.source_id
),

alike as (
    select
        collection,
        count(*) as sources
    from contents
    group by
        collection,
        requests,
        content
),

copies as (
    select
        collection,
        sum(sources - 1)::bigint as copies,
        count(*) filter (where sources > 1) as groups
    from alike
    group by collection
),

files as (
    select
        collection,
        count(*) as sources,
        bool_and(is_dated) as has_starts,
        quantile_cont(requests, 0.5) as p50_requests
    from contents
    group by collection
),

shapes as (
    select
        sources.collection,
        count(*) as requests,
        count(*) filter (where rows.output_tokens = 0) as without_answer,
        count(*) filter (where rows.input_tokens + rows.output_tokens > 131072) as beyond_128k,
        count(*) filter (where rows.input_tokens + rows.output_tokens > 262144) as beyond_256k,
        max(rows.input_tokens + rows.output_tokens) as longest_tokens,
        quantile_cont(rows.input_tokens, 0.5) as p50_input_tokens,
        quantile_cont(rows.output_tokens, 0.5) as p50_output_tokens
    from staging.trace_rows as rows
    inner join staging.sources on sources.source_id = rows.source_id
    where sources.collection is not null
    group by sources.collection
)

select
    files.collection,
    files.sources,
    shapes.requests,
    files.has_starts,
    copies.copies,
    copies.groups,
    shapes.without_answer,
    shapes.beyond_128k,
    shapes.beyond_256k,
    shapes.longest_tokens,
    files.p50_requests,
    shapes.p50_input_tokens,
    shapes.p50_output_tokens
from files
inner join shapes on shapes.collection = files.collection
inner join copies on copies.collection = files.collection
