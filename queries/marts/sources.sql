-- One row per trace: what was ingested, how long it is, its rate, and how much of its prompts was in earlier prompts.
-- group: traces
-- source_name            what the user calls it
-- format                 the reader that took it in
-- rows_read              lines or records read
-- rows_kept              of these, kept
-- rows_rejected          of these, refused
-- first_at               instant of the first arrival; null for relative times
-- duration_s             from first to last arrival, seconds
-- mean_rate_per_s        requests per second over that time
-- p50_input_tokens       prompt, median, tokens
-- p99_input_tokens       prompt, 99th percentile, tokens
-- p50_output_tokens      answer, median, tokens
-- p99_output_tokens      answer, 99th percentile, tokens
-- peak_minute_requests   arrivals in the fullest minute
-- peak_minute_at_s       when that minute began, seconds since the first arrival
-- reused_blocks_ratio    share of prompt blocks that an earlier row had already; null without blocks
-- tick_s                 what the trace's clock counts in, seconds: the most common gap between two different arrival
--                        times, else the smallest one, if 9 in 10 gaps are a whole multiple of it to 1 % of it; null
--                        where neither is, or with fewer than 3 gaps: no coarse clock is seen
with shapes as (
    select
        source_name,
        count(*) as requests,
        min(arrival_at) as first_at,
        max(offset_ns) / 1e9 as duration_s,
        quantile_cont(input_tokens, [0.5, 0.99]) as input_tokens,
        quantile_cont(output_tokens, [0.5, 0.99]) as output_tokens
    from staging.trace_rows
    group by source_name
),

peaks as (
    select
        source_name,
        max(requests) as requests,
        arg_max(minute, (requests, -minute)) * 60e0 as at_s
    from marts.arrival_minutes
    group by source_name
),

gaps as (
    select
        source_name,
        offset_ns - lag(offset_ns) over (partition by source_name order by offset_ns) as gap_ns
    from staging.trace_rows
),

gap_counts as (
    select
        source_name,
        gap_ns,
        count(*) as gaps
    from gaps
    where gap_ns > 0
    group by
        source_name,
        gap_ns
),

candidates as (
    select
        source_name,
        unnest(list_distinct([arg_max(gap_ns, (gaps, -gap_ns)), min(gap_ns)])) as tick_ns
    from gap_counts
    group by source_name
    having sum(gaps) >= 3
),

-- A clock that ticks every 3 s also writes 2.999 s sometimes, so the smallest gap alone would be wrong.
ticks as (
    select
        source_name,
        max(tick_ns) / 1e9 as tick_s
    from (
        select
            candidates.source_name,
            candidates.tick_ns,
            sum(gap_counts.gaps) as gaps,
            sum(gap_counts.gaps) filter (
                where gap_counts.gap_ns > candidates.tick_ns / 2
                    and abs(gap_counts.gap_ns / candidates.tick_ns - round(gap_counts.gap_ns / candidates.tick_ns)) <= 1e-2
            ) as multiples
        from candidates
        inner join gap_counts on gap_counts.source_name = candidates.source_name
        group by
            candidates.source_name,
            candidates.tick_ns
    ) as tried
    where multiples >= 0.9e0 * gaps
    group by source_name
),

prompt_blocks as (
    select
        source_name,
        seq,
        unnest(blocks) as block
    from staging.arrivals
    where len(blocks) > 0
),

rows_of_blocks as (
    select
        source_name,
        block,
        seq,
        count(*) as uses
    from prompt_blocks
    group by
        source_name,
        block,
        seq
),

blocks as (
    select
        source_name,
        block,
        sum(uses) as uses,
        arg_min(uses, seq) as first_uses
    from rows_of_blocks
    group by
        source_name,
        block
),

reuse as (
    select
        source_name,
        (sum(uses) - sum(first_uses)) / sum(uses) as ratio
    from blocks
    group by source_name
)

select
    sources.source_name,
    sources.format,
    sources.rows_read,
    sources.rows_kept,
    sources.rows_rejected,
    shapes.first_at,
    shapes.duration_s,
    shapes.requests / nullif(shapes.duration_s, 0) as mean_rate_per_s,
    shapes.input_tokens[1] as p50_input_tokens,
    shapes.input_tokens[2] as p99_input_tokens,
    shapes.output_tokens[1] as p50_output_tokens,
    shapes.output_tokens[2] as p99_output_tokens,
    peaks.requests as peak_minute_requests,
    peaks.at_s as peak_minute_at_s,
    reuse.ratio as reused_blocks_ratio,
    ticks.tick_s
from staging.sources
left join shapes on shapes.source_name = sources.source_name
left join peaks on peaks.source_name = sources.source_name
left join ticks on ticks.source_name = sources.source_name
left join reuse on reuse.source_name = sources.source_name
where sources.kind = 'arrivals'
