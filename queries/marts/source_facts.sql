-- One row per source, or collection of sources, and fact: all that is known of it, in words, for a reader.
-- group: traces
-- source_name   what the user calls it
-- seq           place in the list
-- fact          what it is about
-- value         in words
with files as (
    select
        source_name,
        unnest([
            {'seq': 1, 'fact': 'file', 'value': path || ' (' || format || ', ' || macros.bytes_text(size_bytes) || ')'},
            {'seq': 2, 'fact': 'taken in', 'value': strftime(ingested_at at time zone 'UTC', '%Y-%m-%d %H:%M UTC')},
            {'seq': 3, 'fact': 'licence', 'value': licence},
            {'seq': 4, 'fact': 'collection', 'value': collection},
            {'seq': 5, 'fact': 'rows', 'value': macros.count_text(rows_read)
                || case when rows_rejected > 0 then ', and ' || macros.count_text(rows_rejected) || ' of them refused' else '' end},
            {'seq': 90, 'fact': 'sha256', 'value': sha256}
        ]) as told
    from staging.sources
),

-- Sessions and longest lengths are what marts.sources leaves out.
shapes as (
    select
        source_name,
        count(*) as requests,
        count(distinct session_id) as sessions,
        max(arrival_at) as last_at,
        max(input_tokens) as input_tokens,
        max(output_tokens) as output_tokens
    from staging.trace_rows
    group by source_name
),

traces as (
    select
        sources.source_name,
        unnest([
            {'seq': 10, 'fact': 'requests', 'value': macros.count_text(shapes.requests)
                || case when shapes.sessions > 0 then ' in ' || macros.many_text(shapes.sessions, 'session') else '' end},
            {'seq': 11, 'fact': 'times', 'value': case
                when sources.first_at is null then 'relative, over ' || macros.span_text(sources.duration_s)
                else strftime(sources.first_at at time zone 'UTC', '%Y-%m-%d %H:%M:%S') || ' to '
                    || strftime(shapes.last_at at time zone 'UTC', '%Y-%m-%d %H:%M:%S') || ' UTC, ' || macros.span_text(sources.duration_s)
                    || coalesce(' (' || files.zone_assumption || ')', '')
            end},
            {'seq': 12, 'fact': 'clock', 'value': case
                when sources.tick_s >= 1e-2 then 'counts in ' || macros.tick_text(sources.tick_s)
                when clocks.resolution_s is not null then 'whole multiples of ' || macros.tick_text(clocks.resolution_s)
            end},
            {'seq': 13, 'fact': 'rate', 'value': macros.figures(sources.mean_rate_per_s) || '/s, ' || macros.figures(sources.mean_rate_per_s * 60) || ' a minute'},
            {'seq': 14, 'fact': 'gaps', 'value': macros.span_text(gaps.mean_gap_s) || ' on average, varying by ' || macros.figures(gaps.gap_cv)
                || ' times that; the longest is ' || macros.span_text(gaps.longest_gap_s)},
            {'seq': 15, 'fact': 'prompts', 'value': 'median ' || macros.count_text(sources.p50_input_tokens) || ', p99 '
                || macros.count_text(sources.p99_input_tokens) || ', longest ' || macros.count_text(shapes.input_tokens) || ' tokens'},
            {'seq': 16, 'fact': 'answers', 'value': 'median ' || macros.count_text(sources.p50_output_tokens) || ', p99 '
                || macros.count_text(sources.p99_output_tokens) || ', longest ' || macros.count_text(shapes.output_tokens) || ' tokens'},
            {'seq': 17, 'fact': 'prefix blocks', 'value': coalesce('of ' || files.block_tokens || ' tokens; ', 'of a length that is not known; ')
                || macros.percent_text(sources.reused_blocks_ratio) || ' were there before'}
        ]) as told
    from marts.sources
    inner join staging.sources as files on files.source_name = sources.source_name
    inner join shapes on shapes.source_name = sources.source_name
    inner join staging.source_clocks as clocks on clocks.source_name = sources.source_name
    left join marts.arrival_gaps as gaps on gaps.source_name = sources.source_name
),

collections as (
    select
        collection as source_name,
        unnest([
            {'seq': 10, 'fact': 'requests', 'value': macros.count_text(requests) || ' in ' || macros.many_text(sources, 'file') || ', median '
                || macros.figures(p50_requests) || ' a file'},
            {'seq': 11, 'fact': 'times', 'value': case when has_starts then 'of each file''s own clock' else 'relative to each file''s begin' end},
            {'seq': 15, 'fact': 'prompts', 'value': 'median ' || macros.count_text(p50_input_tokens) || ' tokens'},
            {'seq': 16, 'fact': 'answers', 'value': 'median ' || macros.count_text(p50_output_tokens) || ' tokens'}
        ]) as told
    from marts.collections
),

shapes_together as (
    select
        collection as source_name,
        unnest([
            {'seq': 10, 'fact': 'files', 'value': macros.many_text(sources, 'file') || case when clients > 0 then ' of ' || macros.many_text(clients, 'client') else '' end},
            {'seq': 20, 'fact': 'lengths', 'value': case
                when cells > 0
                    then macros.count_text(cells) || ' cells of length histograms' || coalesce(', prompts up to ' || macros.count_text(input_up_to) || ' tokens', '')
                        || coalesce(', answers up to ' || macros.count_text(output_up_to) || ' tokens', '')
                else 'none; a plan takes them of another source: --lengths-of SOURCE'
            end},
            {'seq': 21, 'fact': 'rates', 'value': case
                when windows > 0 then macros.count_text(windows) || ' windows of time, ' || macros.figures(requests) || ' requests within ' || macros.span_text(span_s)
                else 'none; a plan needs --request-rate R'
            end},
            {'seq': 22, 'fact': 'lacking', 'value': nullif(concat_ws(
                '; ',
                case when without_lengths > 0 then macros.many_text(without_lengths, 'client') || ' without lengths' end,
                case when without_rates > 0 then macros.many_text(without_rates, 'client') || ' without rates' end
            ), '')},
            {'seq': 30, 'fact': 'use', 'value': 'tidemark plan ' || macros.shell_word(collection) || case
                when windows = 0 then ' --request-rate R --duration 10m'
                when cells = 0 then ' --lengths-of SOURCE'
                else ''
            end || ' --output PLAN'}
        ]) as told
    from staging.shape_collections
),

together as (
    select * from files
    union all
    select * from shapes_together
    union all
    select * from traces
    union all
    select * from collections
    union all
    select
        source_name,
        {'seq': seq, 'fact': fact, 'value': value}
    from staging.source_contents
)

select
    source_name,
    told.seq::integer as seq,
    told.fact as fact,
    told.value as value
from together
where told.value is not null
