-- One row per source and fact about what it holds, other than requests of a trace; in words, for a reader.
-- group: traces
-- source_id     number of the source
-- source_name   what the user calls it
-- seq           place in the list
-- fact          what it is about
-- value         in words
with contents as (
    select
        source_id,
        20 as seq,
        'lengths' as fact,
        macros.count_text(count(*)) || ' cells of a length histogram, ' || macros.figures(sum(requests)) || ' requests (or their shares)'
        || coalesce(', prompts up to ' || macros.count_text(max(input_up_to)) || ' tokens', '')
        || coalesce(', answers up to ' || macros.count_text(max(output_up_to)) || ' tokens', '') as value
    from raw.length_cells
    group by source_id
    union all
    select
        source_id,
        21,
        'rates',
        macros.count_text(count(*)) || ' windows of time' || case when count(client) > 0 then ' of ' || macros.many_text(count(distinct client), 'client') else '' end
        || ', ' || macros.figures(sum(requests)) || ' requests within ' || macros.span_text(max(window_until_s) - min(window_from_s))
    from raw.rate_windows
    group by source_id
    union all
    select
        source_id,
        22,
        'metrics',
        macros.count_text(count(distinct hash(name, labels))) || ' series of ' || macros.many_text(count(distinct name), 'name') || ', '
        || macros.many_text(count(*), 'value') || ' at ' || macros.many_text(count(distinct scrape), 'instant')
        || coalesce(' within ' || nullif(macros.span_text((max(at_ns) - min(at_ns)) / 1e9), macros.span_text(0)), '')
    from raw.metrics
    group by source_id
    union all
    select
        steps.source_id,
        22,
        'steps',
        macros.many_text(count(*), 'engine step') || ' of ' || macros.many_text(count(distinct hash(steps.engine, steps.rank)), 'rank')
        || coalesce(' within ' || nullif(macros.span_text((max(steps.at_ns) - min(steps.at_ns)) / 1e9), macros.span_text(0)), '')
        || case when bool_or(kept.is_sampled) then ', a sample of all' else '' end
        || case when max(kept.lost_steps) > 0 then ', ' || macros.count_text(max(kept.lost_steps)) || ' missing between them' else '' end
    from raw.steps
    left join raw.step_sources as kept on kept.source_id = steps.source_id
    group by steps.source_id
    union all
    select
        source_id,
        23,
        'kernels',
        macros.count_text(count(*)) || ' kernels, ' || coalesce(macros.count_text(sum(instances)) || ' times, ', '') || macros.span_text(sum(total_s)) || ' in all'
    from raw.kernels
    group by source_id
    union all
    select
        source_id,
        24,
        'kernel rules',
        macros.many_text(count(*), 'pattern') || ' for ' || macros.count_text(count(distinct category)) || case when count(distinct category) = 1 then ' category' else ' categories' end
    from raw.kernel_rules
    group by source_id
    union all
    select
        source_id,
        26,
        'model',
        model
    from raw.model_configs
    union all
    select
        source_id,
        27,
        'GPUs',
        macros.many_text(count(*), 'GPU') || ': ' || string_agg(gpu, ', ' order by gpu)
    from raw.gpus
    group by source_id
    union all
    select
        source_id,
        28,
        'prices',
        'of ' || macros.many_text(count(distinct gpu), 'GPU')
    from raw.prices
    group by source_id
    union all
    select
        source_id,
        25,
        'kernel times',
        macros.count_text(sum(points)) || ' of ' || string_agg(distinct operation, ', ')
    from (
        select source_id, 'multiplying' as operation, count(*) as points from raw.gemm_times group by source_id
        union all
        select source_id, 'experts', count(*) from raw.expert_times group by source_id
        union all
        select source_id, 'attention', count(*) from raw.attention_times group by source_id
        union all
        select source_id, 'attention with a latent cache', count(*) from raw.mla_times group by source_id
        union all
        select source_id, 'all-reduce', count(*) from raw.all_reduce_times group by source_id
        union all
        select source_id, 'exchange of tokens', count(*) from raw.exchange_times group by source_id
    ) as times
    group by source_id
    union all
    select
        source_id,
        25,
        'kernels of',
        string_agg(distinct gpu || ', ' || engine || ' ' || engine_version, '; ')
    from raw.kernel_tables
    group by source_id
    union all
    select
        source_id,
        25,
        'measured by',
        string_agg(distinct concat_ws(' ', tool, tool_version), ', ') || ': ' || macros.many_text(count(*), 'point')
        || coalesce(', ' || macros.count_text(sum(requests)) || ' requests', '')
    from raw.points
    group by source_id
    union all
    select
        source_id,
        26,
        'measured on',
        nullif(concat_ws(
            '; ',
            string_agg(distinct model, ', '),
            string_agg(distinct hardware, ', '),
            string_agg(distinct nullif(concat_ws(' ', engine, engine_version), ''), ', ')
        ), '')
    from raw.points
    group by source_id
    union all
    select
        source_id,
        27,
        'figures',
        macros.count_text(count(*)) || ', as the tool printed them, of ' || macros.many_text(count(distinct name), 'name')
    from raw.figures
    group by source_id
    union all
    select
        source_id,
        28,
        'requests',
        macros.count_text(count(*)) || ' timed one by one' || case when count(failure) > 0 then ', ' || macros.count_text(count(failure)) || ' of them failed' else '' end
    from raw.result_requests
    group by source_id
    union all
    select
        source_id,
        29,
        'files',
        macros.count_text(count(*)) || ', ' || macros.bytes_text(sum(octet_length(content))) || ' kept to the byte'
    from raw.documents
    group by source_id
    union all
    select
        source_id,
        30,
        'capacity',
        (header ->> '$.source') || ': ' || coalesce(replace(answer ->> '$.outcome', '_', ' '), 'not ended') || ', ' || macros.many_text(json_array_length(runs), 'run')
    from raw.capacities
)

select
    contents.source_id,
    sources.source_name,
    contents.seq,
    contents.fact,
    contents.value
from contents
inner join staging.sources on sources.source_id = contents.source_id
where contents.value is not null
