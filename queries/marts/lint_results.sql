-- One row per file of results of another tool and case of seeds.lint_rules that it shows. Measurements of a file with one case are one row,
-- which tells of the first. marts.lint has these with the rest.
-- group: trust
-- source_name    what the user calls the file
-- rule           the case, as in seeds.lint_rules
-- measurements   how many of the file's measurements show it
-- found          what was found, in numbers
with points as (
    select
        points.*,
        coalesce(macros.bare_spelling(points.model), macros.model_spelling(points.model)) as spelling,
        coalesce(points.completed, counted.successes) as successes
    from staging.points
    left join (
        select
            source_id,
            point,
            count(*) as successes
        from staging.result_requests
        where is_success
            and not is_warm_up
        group by
            source_id,
            point
    ) as counted
        on counted.source_id = points.source_id
        and counted.point = points.point
),

latencies as (
    select
        figures.source_id,
        figures.point,
        bool_or(quantity = 'ttft_s') as has_ttft,
        bool_or(quantity = 'tpot_s') as has_tpot,
        bool_or(quantity = 'itl_s' and definition_id = 'chunk_gaps') as has_itl,
        bool_or(statistic = 'mean') as has_mean,
        bool_or(regexp_matches(statistic, '^p\d') or statistic in ('max', 'count')) as has_tail,
        -- Gaps between tokens are many for each request. Tools print percentiles above p99 unasked.
        max(try_cast(substr(statistic, 2) as double) / 100) filter (
            where regexp_matches(statistic, '^p\d') and quantity <> 'itl_s' and try_cast(substr(statistic, 2) as double) <= 99
        ) as highest
    from staging.figures
    where quantity in ('ttft_s', 'tpot_s', 'itl_s', 'e2e_s')
        and value is not null
    group by
        figures.source_id,
        figures.point
),

throughputs as (
    select
        source_id,
        point,
        max(value) filter (where quantity in ('total_tokens_per_s', 'total_tokens_per_s_per_gpu')) as total_per_s,
        bool_or(quantity in ('output_tokens_per_s', 'output_tokens_per_s_per_gpu')) as has_output
    from staging.figures
    group by
        source_id,
        point
),

requests as (
    select
        *,
        len(gaps_us) + 1 as chunks,
        input_tokens - coalesce(cached_tokens, 0) as computed_tokens,
        row_number() over (partition by source_id, point order by sent_s, seq) as place,
        count(turn) filter (where turn > 0) over (partition by source_id, point) > 0 as has_turns
    from staging.result_requests
    where is_success
        and not is_warm_up
),

streams as (
    select
        source_id,
        point,
        count(*) filter (where output_tokens >= 5 and e2e_s > 0 and ttft_s is not null and not is_e2e_summed) as answers,
        count(*) filter (where output_tokens >= 5 and ttft_s >= 0.99e0 * e2e_s and not is_e2e_summed) as whole,
        sum(output_tokens) filter (where chunks > 1) as tokens,
        sum(chunks) filter (where chunks > 1) as chunks,
        count(*) filter (where place > 1 and cached_tokens is not null) as looked_up,
        count(*) filter (where place > 1 and cached_tokens >= 0.9e0 * input_tokens) as looked_up_whole
    from requests
    group by
        source_id,
        point,
        has_turns
),

firsts as (
    select
        source_id,
        point,
        ttft_s,
        sent_s + ttft_s as answered_s,
        computed_tokens
    from requests
    where place = 1
),

starts as (
    select
        firsts.source_id,
        firsts.point,
        any_value(firsts.ttft_s) as ttft_s,
        max(requests.ttft_s) as slowest_s,
        count(*) as later
    from firsts
    inner join requests
        on requests.source_id = firsts.source_id
        and requests.point = firsts.point
        and requests.sent_s >= firsts.answered_s
    group by
        firsts.source_id,
        firsts.point
    having count(*) >= 20
        and any_value(firsts.ttft_s) >= 1
        and any_value(firsts.ttft_s) > 3 * max(requests.ttft_s)
        and max(requests.computed_tokens) >= any_value(firsts.computed_tokens)
),

-- Words that tools share and mean differently: aiperf's inter-token latency is what others call TPOT.
words as (
    select distinct
        points.source_id,
        points.source_name,
        points.tool,
        points.spelling,
        case when regexp_matches(figures.name, '(?i)inter_?token|itl') then 'ITL' when regexp_matches(figures.name, '(?i)tpot|per_output_token') then 'TPOT' end as word,
        figures.quantity || ' ' || figures.definition_id as meaning
    from staging.figures
    inner join points
        on points.source_id = figures.source_id
        and points.point = figures.point
    where figures.quantity in ('tpot_s', 'itl_s')
        and points.spelling is not null
),

found as (
    select
        points.source_id,
        points.point,
        'average_only' as rule,
        'means of latencies, and no percentile' as found
    from points
    inner join latencies using (source_id, point)
    where has_mean
        and not has_tail
        and not exists (select 1 from requests where requests.source_id = points.source_id)
    union all
    select
        points.source_id,
        points.point,
        'saturation_only',
        'TTFT of ' || coalesce(macros.count_text(points.requests) || ' ', '') || 'requests that were all sent at once, and no measurement of this model at another load'
    from points
    inner join latencies using (source_id, point)
    where points.load = 'at once'
        and has_ttft
        and not exists (
            select 1
            from points as calm
            where coalesce(calm.load, '') not in ('at once', 'offline')
                and (calm.spelling = points.spelling or calm.source_id = points.source_id)
        )
    union all
    select
        points.source_id,
        points.point,
        'prompt_tokens_as_capacity',
        macros.figures(total_per_s) || ' tokens/s of prompts and answers together, and none of answers alone'
    from points
    inner join throughputs using (source_id, point)
    where total_per_s > 0
        and not has_output
        and (points.total_output_tokens is null or points.duration_s is null)
    union all
    select
        points.source_id,
        points.point,
        case when measured.is_known then 'below_floor' else 'no_prediction' end,
        case
            when measured.is_known
                then 'TPOT ' || macros.duration_text(coalesce(measured.mean_tpot_s, measured.p50_tpot_s)) || ', below the floor of ' || macros.duration_text(measured.floor_tpot_s)
            else 'GPU, model or tensor parallel size is not known: the time per token stands beside nothing'
        end
    from marts.points as measured
    inner join points
        on points.source_name = measured.source_name
        and points.point = measured.point
    where coalesce(measured.mean_tpot_s, measured.p50_tpot_s) < case when measured.is_known then 0.98e0 * measured.floor_tpot_s else 'inf'::double end
    union all
    select
        source_id,
        point,
        'failing',
        macros.count_text(failed) || ' of ' || macros.many_text(requests, 'request') || ' failed'
    from points
    where failed > 1e-2 * requests
    union all
    select
        points.source_id,
        points.point,
        'few_requests',
        'p' || format('{:g}', round(100 * highest, 4)) || ' of ' || macros.many_text(successes, 'request') || ': it wants ' || macros.count_text(macros.fewest_samples(highest))
    from points
    inner join latencies using (source_id, point)
    where successes > 0
        and highest >= 0.9e0
        and successes < macros.fewest_samples(highest)
    union all
    select
        source_id,
        point,
        'no_steady_state',
        macros.many_text(requests, 'request') || ' for ' || max_concurrency || ' in flight: the load ramps up and drains, and holds nowhere'
    from points
    where load = 'closed'
        and max_concurrency > 1
        and requests between 1 and 2 * max_concurrency - 1
    union all
    select
        source_id,
        point,
        'other_lengths',
        'answers have ' || macros.figures(total_output_tokens / successes) || ' tokens on average, ' || macros.figures(output_tokens_asked) || ' were asked for'
    from points
    where successes > 0
        and total_output_tokens / successes < 0.75e0 * output_tokens_asked
        -- Tools with a range of lengths name its upper end or its middle.
        and not coalesce(regexp_matches(settings::varchar, 'range_ratio'), false)
        and tool <> 'inferencex'
    union all
    select
        source_id,
        point,
        'not_streamed',
        macros.count_text(whole) || ' of ' || macros.count_text(answers) || ' answers came whole: TTFT is the whole latency'
    from streams
    where answers >= 10
        and whole > 0.1e0 * answers
    union all
    select
        source_id,
        point,
        'chunks_not_tokens',
        'a chunk has ' || macros.figures(tokens / chunks) || ' tokens on average'
    from streams
    inner join latencies using (source_id, point)
    where has_itl
        and tokens > 1.2e0 * chunks
    union all
    select
        source_id,
        point,
        'identical_prompts',
        macros.count_text(looked_up_whole) || ' of ' || macros.count_text(looked_up) || ' prompts after the first were in the cache for nine tenths or more'
    from streams
    where looked_up >= 20
        and looked_up_whole >= 0.9e0 * looked_up
        and not exists (select 1 from requests where requests.source_id = streams.source_id and requests.point = streams.point and has_turns)
    union all
    select
        source_id,
        point,
        'cold_start',
        'the first request waited ' || macros.duration_text(ttft_s) || ' for its first token, none of the ' || macros.count_text(later) || ' after it more than '
        || macros.duration_text(slowest_s)
    from starts
    union all
    select
        points.source_id,
        points.point,
        'mixed_cache',
        'the server had ' || macros.percent_text(shares.cached_ratio) || ' of these prompts, and ' || macros.percent_text(shares.most_ratio)
        || ' of those of another measurement of the file with the same lengths'
    from (
        select
            source_name,
            point,
            cached_tokens / input_tokens as cached_ratio,
            max(cached_tokens / input_tokens) over (partition by source_name, model, workload) as most_ratio
        from marts.points
    ) as shares
    inner join points
        on points.source_name = shares.source_name
        and points.point = shares.point
    where shares.cached_ratio <= 0.05e0
        and shares.most_ratio >= 0.3e0
    union all
    select
        mine.source_id,
        0,
        'mixed_definitions',
        arg_min(
            mine.word || ' of ' || mine.tool || ' is ' || mine.meaning || ', that of ' || theirs.tool || ' in ' || theirs.source_name || ' is ' || theirs.meaning,
            (theirs.source_name, mine.word, mine.meaning, theirs.meaning)
        )
    from words as mine
    inner join words as theirs
        on theirs.spelling = mine.spelling
        and theirs.word = mine.word
        and theirs.source_id <> mine.source_id
        and theirs.tool <> mine.tool
    where not exists (
        select 1
        from words as alike
        where alike.source_id = theirs.source_id
            and alike.word = theirs.word
            and alike.meaning = mine.meaning
    )
    group by mine.source_id
)

select
    points.source_name,
    found.rule,
    count(*) as measurements,
    case when count(*) > 1 then count(*) || ' measurements, one of them: ' else '' end || arg_min(found.found, found.point) as found
from found
inner join points
    on points.source_id = found.source_id
    and points.point = found.point
group by
    points.source_name,
    found.rule
