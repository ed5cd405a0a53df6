-- One row per figure of another tool that can be computed again from its other output: from its requests if the file has them, else from its
-- totals. If the two differ, reason says why, as far as that is known; checks.recomputed_figures_agree has the others.
--
-- Only requests that brought a token count. Quantiles are linear between the two nearest samples, or as the tool defines them: those of
-- GuideLLM and evalscope are samples themselves. A mean that weighs requests by their tokens is not computed again.
--
-- A reason counts only if it can cause the whole difference.
-- group: tools
-- source_name       file of the figure
-- point             measurement in it
-- tool              that printed it
-- name              the tool's own word
-- quantity          what it measures in our words
-- definition_id     how exactly, as in seeds.definitions
-- statistic         'mean', 'p50', 'p99', 'std', ..., 'value'
-- computed_from     'requests'; 'totals': counts, tokens and duration of the same file; 'batch': batch, lengths and latency
-- samples           requests, gaps or counts that it was worked out from
-- tool_value        in seconds, tokens or these per second
-- recomputed_value  the same, worked out again
-- difference        recomputed_value - tool_value
-- is_equal          they differ by less than a billionth, or by less than the last digit that the tool prints
-- reason            why they differ; null if they do not, or if the reason is not known
with rows_of as ( -- which requests belong to which figures
    select distinct
        source_id as figures_source_id,
        point as figures_point,
        source_id,
        point
    from staging.result_requests
    union all
    -- AIPerf writes its requests and its figures into two files of one begin.
    select
        figures.source_id,
        figures.point,
        requests.source_id,
        requests.point
    from staging.points as figures
    inner join staging.points as requests
        on requests.tool = 'aiperf'
        and figures.tool = 'aiperf'
        and requests.source_id <> figures.source_id
        and abs(epoch_us(requests.started_at) - epoch_us(figures.started_at)) <= 1
    where exists (
        from staging.result_requests
        where result_requests.source_id = requests.source_id
    )
),

requests as (
    select
        source_id,
        point,
        is_success,
        is_counted,
        is_e2e_summed,
        input_tokens,
        output_tokens,
        ttft_s,
        e2e_s,
        tpot_s,
        gaps_us
    from staging.result_requests
    where is_counted
        and not is_warm_up
),

samples as (
    select
        source_id,
        point,
        quantity,
        is_success,
        value
    from (
        unpivot (
            select
                source_id,
                point,
                is_success,
                case when is_success then ttft_s else 0 end as ttft_s,
                case when is_success then e2e_s else 0 end as e2e_s,
                tpot_s,
                input_tokens::double as input_tokens,
                output_tokens::double as output_tokens
            from requests
        )
        on ttft_s, e2e_s, tpot_s, input_tokens, output_tokens
        into name quantity value value
    )
    union all
    select
        source_id,
        point,
        'itl_s' as quantity,
        is_success,
        unnest(gaps_us) * 1e-6 as value
    from requests
),

spread as ( -- ours, and with the tool's successes that brought no token
    select
        source_id,
        point,
        quantity,
        list(value order by value) filter (where is_success) as ours,
        list(value order by value) as theirs
    from samples
    group by
        source_id,
        point,
        quantity
),

counts as (
    select
        source_id,
        point,
        count(*) filter (where is_success) as ours,
        count(*) as theirs,
        coalesce(bool_or(is_e2e_summed), false) as is_e2e_summed,
        sum(input_tokens) filter (where is_success) as our_input_tokens,
        sum(input_tokens) as their_input_tokens,
        sum(output_tokens) filter (where is_success) as our_output_tokens,
        sum(output_tokens) as their_output_tokens
    from requests
    group by
        source_id,
        point
),

sums as ( -- what is a sum, or a sum over the duration
    select
        source_id,
        point,
        unnest([
            {'quantity': 'requests_per_s', 'is_rate': true, 'ours': ours::double, 'theirs': theirs::double},
            {'quantity': 'input_tokens_per_s', 'is_rate': true, 'ours': our_input_tokens::double, 'theirs': their_input_tokens::double},
            {'quantity': 'output_tokens_per_s', 'is_rate': true, 'ours': our_output_tokens::double, 'theirs': their_output_tokens::double},
            {
                'quantity': 'total_tokens_per_s', 'is_rate': true,
                'ours': (our_input_tokens + our_output_tokens)::double, 'theirs': (their_input_tokens + their_output_tokens)::double
            },
            {'quantity': 'total_input_tokens', 'is_rate': false, 'ours': our_input_tokens::double, 'theirs': their_input_tokens::double},
            {'quantity': 'total_output_tokens', 'is_rate': false, 'ours': our_output_tokens::double, 'theirs': their_output_tokens::double}
        ], recursive := true)
    from counts
),

computable as ( -- definitions that the formulas above are of
    select
        tool,
        name,
        quantity,
        definition_id
    from seeds.definitions
    where definition_id in (
            'sent_to_first_token', 'after_first_token', 'after_first_token_client_count', 'chunk_gaps', 'sent_to_last_token',
            'succeeded_over_run', 'succeeded_over_run_client_count', 'succeeded', 'counted_by_client', 'offline_batch', 'offline_over_run',
            'offline_over_run_of_one_sequence'
        )
),

asked as (
    select
        figures.source_id,
        figures.point,
        figures.tool,
        figures.name,
        figures.statistic,
        figures.quantity,
        figures.definition_id,
        figures.value as tool_value,
        figures.printed,
        coalesce(points.settings ->> '$.is_from_log' = 'true', false) or figures.tool = 'evalscope' as has_two_digits,
        figures.tool in ('guidellm', 'evalscope') as has_nearest_rank,
        nullif(points.duration_s, 0) as duration_s,
        points.completed,
        points.requests,
        points.load,
        points.total_input_tokens,
        points.total_output_tokens,
        points.input_tokens_asked,
        points.output_tokens_asked,
        try_cast(points.settings ->> '$.run_s' as double) as window_s
    from staging.figures
    inner join computable
        on computable.tool = figures.tool
        and computable.name = figures.name
    inner join staging.points
        on points.source_id = figures.source_id
        and points.point = figures.point
    where isfinite(figures.value)
),

from_requests as (
    select
        asked.*,
        'requests' as computed_from,
        case when sums.quantity is null then len(spread.ours) else counts.ours end as samples,
        case
            when sums.quantity is not null then sums.ours / case when sums.is_rate then asked.duration_s else 1 end
            when asked.has_nearest_rank and regexp_matches(asked.statistic, '^p[0-9.]+$')
                then spread.ours[greatest(ceil(try_cast(asked.statistic[2:] as double) / 100 * len(spread.ours) - 1e-9), 1)::bigint]
            else macros.statistic(spread.ours, asked.statistic)
        end as recomputed_value,
        case
            when sums.quantity is not null then sums.theirs / case when sums.is_rate then asked.duration_s else 1 end
            when asked.has_nearest_rank and regexp_matches(asked.statistic, '^p[0-9.]+$')
                then spread.theirs[greatest(ceil(try_cast(asked.statistic[2:] as double) / 100 * len(spread.theirs) - 1e-9), 1)::bigint]
            else macros.statistic(spread.theirs, asked.statistic)
        end as as_the_tool_counts,
        list_avg(spread.ours) as our_mean,
        counts.theirs as rows_counted,
        counts.theirs - counts.ours as without_token,
        counts.is_e2e_summed
    from asked
    inner join rows_of
        on rows_of.figures_source_id = asked.source_id
        and rows_of.figures_point = asked.point
    inner join counts
        on counts.source_id = rows_of.source_id
        and counts.point = rows_of.point
    left join spread
        on spread.source_id = rows_of.source_id
        and spread.point = rows_of.point
        and spread.quantity = asked.quantity
    left join sums
        on sums.source_id = rows_of.source_id
        and sums.point = rows_of.point
        and sums.quantity = asked.quantity
        and asked.statistic = 'value'
),

from_totals as (
    select
        asked.*,
        case when asked.tool = 'argonne' then 'batch' else 'totals' end as computed_from,
        coalesce(asked.completed, 0) as samples,
        case asked.quantity
            when 'requests_per_s' then asked.completed
            when 'input_tokens_per_s' then asked.total_input_tokens
            when 'output_tokens_per_s' then asked.total_output_tokens
            when 'total_tokens_per_s' then
                case asked.tool
                    when 'argonne' then
                        case when asked.definition_id = 'offline_over_run_of_one_sequence' then 1 else asked.requests end
                        * (asked.input_tokens_asked + asked.output_tokens_asked)
                    when 'vllm-bench-throughput' then total_tokens.tool_value
                    else asked.total_input_tokens + asked.total_output_tokens
                end
        end / asked.duration_s as recomputed_value,
        null as as_the_tool_counts,
        null as our_mean,
        null as rows_counted,
        0 as without_token,
        false as is_e2e_summed
    from asked
    left join (
        select
            source_id,
            point,
            value as tool_value
        from staging.figures
        where quantity = 'total_tokens'
    ) as total_tokens
        on total_tokens.source_id = asked.source_id
        and total_tokens.point = asked.point
    where asked.statistic = 'value'
        and not exists (
            from rows_of
            where rows_of.figures_source_id = asked.source_id
                and rows_of.figures_point = asked.point
        )
),

both_ways as (
    select * from from_requests
    union all by name
    select * from from_totals
),

sized as (
    select
        *,
        recomputed_value - tool_value as difference,
        abs(recomputed_value - tool_value) / nullif(least(abs(tool_value), abs(recomputed_value)), 0) as times_apart,
        -- Requests that are not there take their share off a sum.
        abs(tool_value) / nullif(abs(recomputed_value) * case when our_mean is null then completed / nullif(rows_counted, 0) else 1 end, 0) as times_expected,
        (completed - rows_counted) / nullif(rows_counted, 0) as missing_share,
        -- Half of the last digit, of the figure and of the duration that it is worked out with.
        case
            when tool = 'agentperfbench' and computed_from = 'requests' and quantity in ('ttft_s', 'itl_s') then 5.0001e-6 -- hundredths of a millisecond in the requests
            when has_two_digits then
                5.0001e-3 * abs(tool_value / nullif(printed, 0))
                + case when computed_from = 'totals' then 5.0001e-3 / duration_s * abs(recomputed_value) else 0 end
        end as digits
    from both_ways
    where isfinite(recomputed_value)
),

compared as (
    select
        *,
        abs(difference) <= greatest(1e-9 * abs(tool_value), coalesce(digits, 0)) as is_equal
    from sized
)

select
    sources.source_name,
    compared.point,
    compared.tool,
    compared.name,
    compared.quantity,
    compared.definition_id,
    compared.statistic,
    compared.computed_from,
    compared.samples,
    compared.tool_value,
    compared.recomputed_value,
    compared.difference,
    compared.is_equal,
    case
        when is_equal then null
        when quantity = 'itl_s' and abs(difference) <= 1e-6 and times_apart <= 0.25 then 'gaps are kept in whole microseconds'
        when without_token > 0 and abs(as_the_tool_counts - tool_value) <= 1e-9 * abs(tool_value)
            then 'to the tool, ' || macros.counted(without_token, 'answer') || ' without a token succeeded with a TTFT of 0'
        when is_e2e_summed and quantity in ('tpot_s', 'e2e_s') and (statistic = 'std' or difference < 0)
            and times_apart <= case when statistic = 'std' then 0.5 else 0.25 end
            then 'no latencies in the file: the time from the last chunk to the end of the stream is missing'
        when tool = 'aiperf' and quantity = 'itl_s' and abs(difference) <= 1e-3 * tool_value then 'the tool estimates quantiles of gaps'
        when window_s between duration_s and 4 * duration_s and computed_from = 'requests'
            and abs(recomputed_value * duration_s / window_s - tool_value) <= 1e-5 * tool_value
            then 'over the whole run of ' || macros.figures(window_s) || ' s, not the ' || macros.figures(duration_s) || ' s of its requests'
        when computed_from = 'batch' and abs(difference) <= 1e-5 * tool_value then 'the file has about six digits'
        when rows_counted < completed
            and (
                times_expected between 1 / (1 + least(10 * missing_share, 4)) and 1 + least(10 * missing_share, 4)
                or statistic = 'std' and recomputed_value = 0 and tool_value <= our_mean -- the few may be alike
            )
            then 'the requests are ' || rows_counted || ' of ' || completed
    end as reason
from compared
inner join staging.sources on sources.source_id = compared.source_id
