-- One row per trace, or collection of traces, and finding: what is odd about it, what that does to a replay, and the option that repairs it.
-- An alarm means that a replay of the trace as recorded is not the traffic that its users made; the other findings are good to know.
-- A trace of independent arrivals without ceilings, gaps and failures has no row. Findings about times need at least 20 requests.
-- In a collection, a trace without dates is one session. It is played by its think times, so its gaps are not looked at.
-- group: trust
-- source_name   what the user calls the trace or the collection
-- seq           place in the list
-- subject       what it is about
-- is_alarm      a replay of the trace as recorded would mislead
-- requests      how many requests it concerns; null where it is not about a number of requests
-- found         what was found, in numbers
-- meaning       what it means for a replay
-- remedy        the option that repairs or avoids it; null: none does
with shapes as (
    select
        source_name,
        count(*) as requests,
        max(offset_ns) / 1e9 as duration_s,
        avg(input_tokens) as mean_input_tokens,
        count(*) filter (where output_tokens = 0) as without_answer,
        count(*) filter (where input_tokens = 0) as without_prompt,
        count(*) filter (where input_tokens + output_tokens > 131072) as beyond_128k,
        count(*) filter (where input_tokens + output_tokens > 262144) as beyond_256k,
        max(input_tokens + output_tokens) as longest_tokens
    from staging.trace_rows
    group by source_name
    union all
    select
        collection,
        requests,
        null,
        null,
        without_answer,
        0,
        beyond_128k,
        beyond_256k,
        longest_tokens
    from marts.collections
),

-- Finding the tick is expensive, and it matters only where many requests arrive at once.
ticks as (
    select
        gaps.source_name,
        gaps.gaps,
        gaps.zero_gaps,
        gaps.mean_gap_s,
        gaps.gap_cv,
        gaps.longest_gap_s,
        gaps.longest_gap_at_s,
        gaps.silences,
        gaps.silent_s,
        gaps.busy_gap_cv,
        longest.requests_before,
        sources.tick_s,
        sources.duration_s,
        clocks.resolution_s,
        clocks.first_s,
        clocks.is_dated,
        clocks.backwards,
        gaps.gaps >= 20 and 20 * gaps.zero_gaps > gaps.gaps as is_crowded
    from marts.arrival_gaps as gaps
    left join marts.silences as longest on longest.source_name = gaps.source_name
        and longest.from_s = gaps.longest_gap_at_s
    inner join marts.sources on sources.source_name = gaps.source_name
    inner join staging.source_clocks as clocks on clocks.source_name = gaps.source_name
    inner join staging.sources as files on files.source_name = gaps.source_name
    where files.collection is null
        or clocks.is_dated
),

-- A trace that lasts days, counts in whole seconds and is even through the day is probably one of minutes in milliseconds: people sleep.
even_days as (
    select hours.source_name
    from marts.arrival_hours as hours
    inner join ticks on ticks.source_name = hours.source_name
    where not ticks.is_dated
        and ticks.resolution_s >= 1
        and ticks.duration_s >= 172800
        and ticks.gaps >= 200
    group by hours.source_name
    having max(hours.mean_rate_per_s) < 2e0 * min(hours.mean_rate_per_s)
        -- 24 hours of a Poisson stream: the mean of chi-squared over its degrees, and five of its deviations.
        or sum(pow(hours.requests - hours.covered_s / ticks.mean_gap_s, 2) / (hours.covered_s / ticks.mean_gap_s)) / 23 < 1e0 + 5e0 * sqrt(2e0 / 23)
),

-- No servers at one place prefill ten million tokens per second, and few get a thousand requests per second.
doubts as (
    select
        ticks.*,
        shapes.mean_input_tokens,
        case
            when not ticks.is_dated and sources.time_unit = 'ms' and ticks.first_s between 1e6 and 1e7 then 'seconds of this century'
            when not ticks.is_dated and sources.time_unit = 's' and ticks.first_s between 1e12 and 1e13 then 'milliseconds of this century'
            when ticks.mean_gap_s < 1e-3 or ticks.mean_gap_s < 1e-2 and shapes.mean_input_tokens > 1e7 * ticks.mean_gap_s then 'crowded'
            when sources.time_unit = 's' and even_days.source_name is not null then 'no day'
            when ticks.mean_gap_s > 3600 then 'sparse'
        end as doubt
    from ticks
    inner join staging.sources on sources.source_name = ticks.source_name
    inner join shapes on shapes.source_name = ticks.source_name
    left join even_days on even_days.source_name = ticks.source_name
    where ticks.gaps >= 20
        and ticks.duration_s > 0
),

clock as (
    select
        source_name,
        10 as seq,
        'clock ticks' as subject,
        true as is_alarm,
        zero_gaps as requests,
        'its clock counts in ticks of ' || macros.tick_text(tick_s) || ': ' || macros.count_text(zero_gaps) || ' of '
        || macros.count_text(gaps) || ' gaps between requests are zero' as found,
        'as recorded they go in bursts of about ' || macros.figures((gaps + 1) / (gaps - zero_gaps + 1))
        || ', which nobody made; the variation of the gaps, ' || macros.figures(gap_cv) || ' times their mean, is the clock''s' as meaning,
        '--spread-ticks spreads each tick''s requests over it, in their order' as remedy
    from ticks
    where is_crowded
        and tick_s >= 1e-2 -- a finer clock is finer than a replay
    union all
    select
        source_name,
        11,
        'arrivals at one instant',
        false,
        zero_gaps,
        macros.count_text(zero_gaps) || ' of ' || macros.count_text(gaps) || ' requests have the instant of the one before them',
        case
            when duration_s = 0 then 'as recorded all go at once: there is no rate in it'
            else 'as recorded they go as one burst, be it the users'' or the recorder''s'
        end,
        case when duration_s = 0 then '--mode closed --max-concurrency N keeps N of them in flight' end
    from ticks
    where is_crowded
        and (tick_s is null or duration_s = 0)
    union all
    select
        source_name,
        12,
        'times cut short',
        10 * resolution_s >= mean_gap_s,
        gaps + 1,
        'all times are whole multiples of ' || macros.tick_text(resolution_s) || '; a gap is ' || macros.span_text(mean_gap_s) || ' on average',
        'a gap is wrong by up to ' || macros.tick_text(resolution_s),
        case when tick_s is not null then '--spread-ticks draws what was cut off' end
    from ticks
    where gaps >= 20
        and not is_crowded
        and resolution_s >= greatest(1e-2, 1e-2 * mean_gap_s)
    union all
    select
        source_name,
        13,
        'unit of time',
        true,
        gaps + 1,
        case
            when doubt = 'seconds of this century' then 'its times are read as milliseconds; as seconds they would be of this century'
            when doubt = 'milliseconds of this century' then 'its times are read as seconds; as milliseconds they would be of this century'
            when doubt = 'no day'
                then 'its times are read as seconds, all whole, and over ' || macros.span_text(duration_s) || ' no hour of the day is fuller than another; as milliseconds they would be '
                    || macros.figures(1e3 / mean_gap_s) || ' requests a second for ' || macros.span_text(duration_s / 1e3)
            when doubt = 'sparse' then 'a request every ' || macros.span_text(mean_gap_s) || ' on average'
            else macros.count_text(gaps + 1) || ' requests within ' || macros.span_text(duration_s) || ': ' || macros.figures(1 / mean_gap_s) || ' a second'
                || case when mean_input_tokens > mean_gap_s then ', ' || macros.figures(mean_input_tokens / mean_gap_s) || ' prompt tokens a second' else '' end
        end,
        'read in the wrong unit, all gaps are wrong by the same factor',
        case
            when doubt in ('seconds of this century', 'crowded') then 'if they are seconds that were read as milliseconds: purge the source, and ingest it with --time-unit s'
            else 'if they are milliseconds that were read as seconds: purge the source, and ingest it with --time-unit ms'
        end
    from doubts
    where doubt is not null
    union all
    select
        source_name,
        14,
        'order of the file',
        false,
        backwards,
        macros.count_text(backwards) || ' row' || case when backwards = 1 then ' is' else 's are' end || ' earlier than the row before in the file',
        'they are sent in order of time',
        null
    from ticks
    where backwards > 0
    union all
    select
        source_name,
        40,
        'silences',
        true,
        null,
        case
            when silences = 1 then 'no request for ' || macros.span_text(longest_gap_s)
            else macros.count_text(silences) || ' silences, ' || macros.span_text(silent_s) || ' in all; the longest is '
                || macros.span_text(longest_gap_s)
        end || ', from ' || macros.offset_text(longest_gap_at_s) || '; a gap is ' || macros.span_text(mean_gap_s) || ' on average',
        'nothing was asked, or nothing was recorded: a server rests there, and the mean rate is below the rate between',
        '--until ' || macros.offset_text(longest_gap_at_s + 1) || ' sends the ' || macros.many_text(requests_before, 'request') || ' before '
        || case when silences = 1 then 'it' else 'the longest' end || ', --from ' || macros.offset_text(longest_gap_at_s + longest_gap_s)
        || ' the ' || macros.count_text(gaps + 1 - requests_before) || ' after it'
    from ticks
    where silences > 0
),

ceilings as (
    select
        ceilings.source_name,
        case length when 'prompt' then 20 else 21 end as seq,
        'clipped ' || length || 's' as subject,
        true as is_alarm,
        ceilings.requests,
        macros.count_text(ceilings.requests) || ' of ' || macros.count_text(shapes.requests) || ' ' || length || 's have '
        || case when least_tokens < ceiling_tokens then macros.count_text(least_tokens) || ' to ' else '' end
        || macros.count_text(ceiling_tokens) || ' tokens, the most that any has; by the lengths below, '
        || case when usual < 1 then 'hardly one' else macros.figures(usual) end || ' would' as found,
        case length
            when 'prompt' then 'longer ones were cut or refused where it was recorded: the replay has too few prompt tokens, and none of the longest prompts'
            else 'longer ones were stopped at a limit where it was recorded: the replay is right for that limit, and too light for a higher one'
        end as meaning,
        null as remedy
    from marts.length_ceilings as ceilings
    inner join shapes on shapes.source_name = ceilings.source_name
),

lengths as (
    select
        source_name,
        22 as seq,
        'no answer' as subject,
        100 * without_answer > requests as is_alarm,
        without_answer as requests,
        macros.count_text(without_answer) || ' of ' || macros.count_text(requests) || ' requests (' || macros.percent_text(without_answer / requests)
        || ') have no answer token' as found,
        'they failed, or were given up, where it was recorded; an answer of nothing cannot be asked for, so they are left out, and their prompts with them' as meaning,
        null as remedy
    from shapes
    where without_answer > 0
    union all
    select
        source_name,
        23,
        'no prompt',
        100 * without_prompt > requests,
        without_prompt,
        macros.count_text(without_prompt) || ' of ' || macros.count_text(requests) || ' requests (' || macros.percent_text(without_prompt / requests)
        || ') have no prompt token',
        'a server refuses an empty prompt, so they are left out',
        null
    from shapes
    where without_prompt > 0
    union all
    select
        source_name,
        24,
        'long requests',
        false,
        beyond_128k,
        macros.count_text(beyond_128k) || ' of ' || macros.count_text(requests) || ' requests have more than 131,072 tokens, '
        || macros.count_text(beyond_256k) || ' more than 262,144; the longest has ' || macros.count_text(longest_tokens),
        'a server whose --max-model-len is below that refuses them',
        '--max-model-len N --overlong drop or cap'
    from shapes
    where beyond_128k > 0
),

copies as (
    select
        source_name,
        count(*) - 1 as copies
    from staging.trace_rows
    group by
        source_name,
        offset_ns,
        input_tokens,
        output_tokens,
        session_id,
        turn,
        class,
        hash(blocks)
    having count(*) > 1
),

duplicates as (
    select
        copies.source_name,
        30 as seq,
        'duplicates' as subject,
        100 * sum(copies) > any_value(shapes.requests) as is_alarm,
        sum(copies)::bigint as requests,
        macros.counted(sum(copies)::bigint, 'request') || case when sum(copies) = 1 then ' is' else ' are' end
        || ' the same as another in time, lengths and all else' as found,
        'two that came together, or one that was written twice: nothing in the file tells which, so both are sent' as meaning,
        null as remedy
    from copies
    inner join shapes on shapes.source_name = copies.source_name
    group by copies.source_name
),

-- 1 + 5 sqrt(2 / windows) is five standard deviations beyond a Poisson stream.
bursts as (
    select
        ticks.source_name,
        41 as seq,
        'bursts' as subject,
        false as is_alarm,
        null::bigint as requests,
        concat_ws(
            '; ',
            case
                when not any_value(ticks.is_crowded)
                    then 'gaps vary by ' || macros.figures(any_value(ticks.busy_gap_cv)) || ' times their mean'
                        || case when any_value(ticks.silences) > 0 then ' without the silences' else '' end
            end,
            macros.count_text(arg_max(burstiness.peak_requests, width_s) filter (where width_s <= 60 and mean_requests > 0)) || ' in the fullest '
            || macros.tick_text(max(width_s) filter (where width_s <= 60 and mean_requests > 0)) || ', '
            || macros.figures(arg_max(burstiness.mean_requests, width_s) filter (where width_s <= 60 and mean_requests > 0)) || ' in the mean one',
            'index of dispersion ' || string_agg(macros.figures(dispersion_index) || ' at ' || width_s || ' s', ', ' order by width_s)
        ) as found,
        'a Poisson stream of the same mean (1 at every scale) is far kinder to a server: queues come from the bursts' as meaning,
        'sent as it is they are kept; --thin and --thicken keep them, --speed makes them shorter' as remedy
    from ticks
    inner join marts.burstiness on burstiness.source_name = ticks.source_name
    where ticks.gaps >= 20
        -- Windows shorter than ten ticks would measure the clock, not the traffic.
        and not (is_crowded and width_s < coalesce(10 * tick_s, 0) and width_s < 60)
    group by ticks.source_name
    having any_value(ticks.busy_gap_cv) > 1.2e0 and not any_value(ticks.is_crowded)
        or bool_or(not (is_crowded and width_s < coalesce(10 * tick_s, 0)) and dispersion_index > 2e0 and dispersion_index > 1e0 + 5e0 * sqrt(2e0 / windows))
),

days as (
    select
        hours.source_name,
        42 as seq,
        'shape of the day' as subject,
        false as is_alarm,
        null::bigint as requests,
        'from ' || macros.figures(min(hours.mean_rate_per_s)) || '/s at ' || format('{:02d}:00', arg_min(hours.hour, (hours.mean_rate_per_s, hours.hour))) || ' to '
        || macros.figures(max(hours.mean_rate_per_s)) || '/s at ' || format('{:02d}:00', arg_max(hours.hour, (hours.mean_rate_per_s, -hours.hour)))
        || case when any_value(ticks.is_dated) then ' UTC' else ' after its start' end as found,
        'the mean rate, ' || macros.figures(sum(hours.requests) / sum(hours.covered_s)) || '/s, is that of no hour; size for the fullest' as meaning,
        '--from and --until choose the hours to send' as remedy
    from marts.arrival_hours as hours
    inner join ticks on ticks.source_name = hours.source_name
    where ticks.duration_s >= 86400
        and ticks.gaps >= 1000
    group by hours.source_name
    having max(hours.mean_rate_per_s) > 1.5e0 * min(hours.mean_rate_per_s)
),

-- A block helps only if everything before it in the prompt is the same too.
scattered as (
    select
        reuse.source_name,
        51 as seq,
        'prefix blocks' as subject,
        false as is_alarm,
        null::bigint as requests,
        macros.percent_text(sources.reused_blocks_ratio) || ' of the prompt blocks were there before, only ' || macros.percent_text(reuse.reused_ratio)
        || ' after the same start of a prompt' as found,
        'an engine reuses only prefixes: the smaller share is what a cache can have' as meaning,
        null as remedy
    from marts.reuse
    inner join marts.sources on sources.source_name = reuse.source_name
    where reuse.capacity_blocks is null
        and sources.reused_blocks_ratio > 1.001e0 * reuse.reused_ratio
),

caches as (
    select
        source_name,
        50 as seq,
        'reuse of prompts' as subject,
        false as is_alarm,
        null::bigint as requests,
        'a cache without end has ' || macros.percent_text(max(reused_ratio)) || ' of the prompt blocks; for nine tenths of that it holds '
        || coalesce(
            macros.count_text(min(capacity_tokens) filter (where reused >= 0.9e0 * most)) || ' tokens',
            macros.count_text(min(capacity_blocks) filter (where reused >= 0.9e0 * most)) || ' blocks'
        ) as found,
        'a smaller KV cache prefills more than the trace''s share of new blocks says; marts.reuse has every size' as meaning,
        'prefix blocks are sent as recorded; --cache cold measures without what was there before' as remedy
    from (
        select
            *,
            max(reused) over (partition by source_name) as most
        from marts.reuse
    ) as sizes
    group by source_name
    having max(reused_ratio) > 1e-2
),

sessions as (
    select
        collection as source_name,
        15 as seq,
        'starts of sessions' as subject,
        true as is_alarm,
        null::bigint as requests,
        macros.count_text(sources) || ' sessions count their times from their own begin' as found,
        'when each began, and how many went on at once, is not recorded: whatever a plan does with them is invented' as meaning,
        '--session-rate R begins R a second by chance; the plan''s header says so' as remedy
    from marts.collections
    where not has_starts
    union all
    select
        collection,
        16,
        'same sessions',
        true,
        null,
        macros.count_text(copies) || ' of ' || macros.count_text(sources) || ' files say the same as another one, in ' || macros.counted(groups, 'group'),
        'they count as sessions of their own, and weigh that much more than the others',
        null
    from marts.collections
    where copies > 0
),

refused as (
    select
        source_name,
        60 as seq,
        'lines refused' as subject,
        100 * rows_rejected > rows_read as is_alarm,
        rows_rejected as requests,
        macros.count_text(rows_rejected) || ' of ' || macros.count_text(rows_read) || ' lines could not be read' as found,
        'they are not sent; their lines and the reasons are kept as rejects' as meaning,
        null as remedy
    from staging.sources
    where kind = 'arrivals'
        and rows_rejected > 0
)

select * from clock
union all
select * from sessions
union all
select * from ceilings
union all
select * from lengths
union all
select * from duplicates
union all
select * from bursts
union all
select * from days
union all
select * from caches
union all
select * from scattered
union all
select * from refused
