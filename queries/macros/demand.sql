-- The demand of a service in a week: what arrived in each hour and how long it was. request_table, count_table and length_table are names of
-- relations with the columns of macros.service_requests, macros.service_counts and macros.service_lengths. Hours, bins of five minutes and minutes count from
-- the start of the week. Trap: a macro's own relations, such as counted, hide one of the same name.
-- group: traces

-- The nearest whole number of a sum of parts of requests. Such a sum is now 2.4999999999, now 2.5, by the order of its rows: thousandths are rounded first.
--   select macros.whole(2.4999999999)
create macro macros.whole(number) as round(round(number, 3));

-- The requests of some traces in a week, in nanoseconds since it began. Traces without dates have no instants and no rows. chosen: sources, and the only class or
-- model of each that counts; null: all. class: that of the request, else its model. is_measured: it did not fail and has an answer, so that its lengths count.
-- session_key: a number that the requests of a session share.
--   select count(*) from macros.service_requests([{'source_id': 1, 'model': null, 'class': 'chat'}], '2026-11-16T00:00:00Z'::timestamptz, '2026-11-23T00:00:00Z'::timestamptz)
create macro macros.service_requests(chosen, from_at, until_at) as table (
    with origins as (
        select
            source_id,
            epoch_ns(origin_at) - epoch_ns(from_at) as origin_ns
        from raw.sources
        where list_contains([one.source_id for one in chosen], source_id) and is_dated
    )

    select
        arrivals.source_id,
        arrivals.line,
        origins.origin_ns + arrivals.arrival_ns as since_ns,
        arrivals.input_tokens::integer as input_tokens,
        arrivals.output_tokens::integer as output_tokens,
        coalesce(arrivals.class, details.model) as class,
        hash(arrivals.source_id, coalesce(arrivals.session_id, arrivals.line::varchar)) as session_key,
        not coalesce(details.is_failed, false) and arrivals.output_tokens > 0 as is_measured
    from raw.arrivals
    inner join origins on origins.source_id = arrivals.source_id
    left join raw.arrival_details as details on details.source_id = arrivals.source_id
        and details.line = arrivals.line
    semi join (select unnest(chosen, recursive := true)) as wanted
        on wanted.source_id = arrivals.source_id
        and (wanted.model is null or wanted.model = details.model)
        and (wanted.class is null or wanted.class = arrivals.class)
    where origins.origin_ns + arrivals.arrival_ns >= 0
        and origins.origin_ns + arrivals.arrival_ns < epoch_ns(until_at) - epoch_ns(from_at)
);

-- What was counted in each hour, beside the single requests. A covered hour in which nothing was counted is there too. Tokens are those that a source
-- counted, else those of the middles of its lengths; without either they are not known, and lacks_tokens says so where there were requests.
-- is_guessed: some tokens come from the middles. is_coarse: some windows are longer than five minutes. input, output, joint: cells of the lengths, with bounds above
-- and up to, and n requests. is_open: one has no upper bound. is_apart: prompts and answers are counted apart. mean_input, mean_output: mean lengths by the
-- sums of the servers' histograms of lengths; null where a source with requests has none.
--   with counts as (from macros.service_counts([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)), lengths as (from macros.service_lengths('counts', [{'source_id': 1}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.counted_hours('counts', 'lengths')
create macro macros.counted_hours(count_table, length_table) as table (
    with said as (
        select
            source_id,
            hour,
            sum(amount) filter (where figure in ('requests', 'rejections')) as requests,
            sum(amount) filter (where figure = 'input_tokens') as input_tokens,
            sum(amount) filter (where figure = 'output_tokens') as output_tokens,
            sum(amount) filter (where figure = 'requests') as measured,
            sum(amount) filter (where figure = 'input_tokens' and priority = 1) as input_sum,
            sum(amount) filter (where figure = 'output_tokens' and priority = 1) as output_sum
        from query_table(count_table)
        where is_counted and is_chosen
        group by all
    ),

    guessed as (
        select
            source_id,
            hour,
            sum(input_tokens) as input_tokens,
            sum(output_tokens) as output_tokens
        from query_table(length_table)
        group by all
    ),

    known as (
        select
            source_id,
            hour,
            said.requests,
            said.measured,
            said.input_sum,
            said.output_sum,
            macros.whole(coalesce(said.input_tokens, guessed.input_tokens)) as input_tokens,
            macros.whole(coalesce(said.output_tokens, guessed.output_tokens)) as output_tokens,
            coalesce(said.input_tokens, guessed.input_tokens) is not null and coalesce(said.output_tokens, guessed.output_tokens) is not null as is_known,
            said.input_tokens is null or said.output_tokens is null as is_guessed
        from said
        left join guessed using (source_id, hour)
    ),

    tokens as (
        select
            hour,
            coalesce(sum(input_tokens) filter (where is_known), 0)::bigint as input_tokens,
            coalesce(sum(output_tokens) filter (where is_known), 0)::bigint as output_tokens,
            coalesce(bool_or(not is_known and requests > 0), false) as lacks_tokens,
            coalesce(bool_or(is_known and is_guessed), false) as is_guessed,
            case when bool_and(input_sum is not null) filter (where measured > 0) then sum(input_sum) filter (where measured > 0) / sum(measured) end as mean_input,
            case when bool_and(output_sum is not null) filter (where measured > 0) then sum(output_sum) filter (where measured > 0) / sum(measured) end as mean_output
        from known
        group by hour
    ),

    hours as (
        select
            hour,
            list_sort(list(distinct source_id)) as source_ids,
            coalesce(sum(amount) filter (where is_chosen), 0) as requests,
            coalesce(bool_or(is_coarse and covered_s > 0), false) as is_coarse
        from query_table(count_table)
        where is_counted and figure in ('requests', 'rejections')
        group by hour
    ),

    cells as (
        select
            hour,
            kind,
            coalesce(input, [0, 0]) as input,
            coalesce(output, [0, 0]) as output,
            sum(requests) as n,
            bool_or(is_open) as is_open
        from query_table(length_table)
        group by all
    ),

    shapes as (
        select
            hour,
            list({'above': input[1], 'up_to': input[2], 'n': n} order by input) filter (where kind = 'input') as input,
            list({'above': output[1], 'up_to': output[2], 'n': n} order by output) filter (where kind = 'output') as output,
            list({'input': input, 'output': output, 'n': n} order by input, output) filter (where kind = 'joint') as joint,
            bool_or(is_open) as is_open,
            bool_or(kind <> 'joint') as is_apart
        from cells
        group by hour
    )

    select
        hours.*,
        tokens.* exclude (hour),
        shapes.* exclude (hour)
    from hours
    left join tokens using (hour)
    left join shapes using (hour)
);

-- The busiest five minutes by the clock of each hour, and how bursty it is: the variance of the counts of its five minutes over their mean. A bin
-- without requests counts in the burstiness; one whose count is not known, or only as the mean of a longer window, does not. minute_table: the name of a
-- relation of minutes and their requests. week_s: how long the week is, seconds, as its last hour may be half an hour.
--   with minutes as (select 1 as minute, 40 as requests), counts as (from macros.service_counts([{'source_id': 2, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select * from macros.demand_peaks('minutes', 'counts', 604800)
create macro macros.demand_peaks(minute_table, count_table, week_s) as table (
    with bins as (
        select
            minute // 60 as hour,
            minute // 5 as bin,
            sum(requests)::double as requests,
            false as is_coarse
        from query_table(minute_table)
        group by all
        union all
        select
            hour,
            bin,
            coalesce(sum(amount) filter (where is_chosen), 0) as requests,
            bool_or(is_coarse) or max(covered_s) < 300 - 1 as is_coarse
        from query_table(count_table)
        where figure in ('requests', 'rejections') and is_counted
        group by source_id, hour, bin
    ),

    added as (
        select
            hour,
            bin,
            sum(requests) as requests,
            bool_or(is_coarse) as is_coarse
        from bins
        group by all
    ),

    sums as (
        select
            hour,
            max(requests) as most,
            coalesce(sum(requests) filter (where not is_coarse), 0) as requests,
            coalesce(sum(requests * requests) filter (where not is_coarse), 0) as squares,
            least(12, week_s // 300 - 12 * hour) - count(*) filter (where is_coarse) as bins
        from added
        group by hour
    )

    select
        hour,
        most / 300 as peak_rate_per_s,
        case when requests > 0 and bins >= 2 then (squares - requests * requests / bins) / (bins - 1) / (requests / bins) end as burst_ratio
    from sums
);

-- Lengths of each hour on a logarithmic scale: pairs of 32 log2(tokens), rounded, and how many there are. length_table: the name of a relation of hours and tokens.
--   with lengths as (select arrival_ns // 3_600_000_000_000 as hour, input_tokens as tokens from raw.arrivals) select count(*) from macros.length_bins('lengths')
create macro macros.length_bins(length_table) as table (
    select
        hour,
        list([bin, requests] order by bin) as bins
    from (
        select
            hour,
            round(32 * log2(greatest(tokens, 1)))::bigint as bin,
            count(*) as requests
        from query_table(length_table)
        group by all
    )
    group by hour
);

-- Quantiles of some lengths, and how many there are of each on a finer scale. length_table: the name of a relation with a column of tokens. A p99 of fewer than 100 is null.
-- bins: of 64 log2(tokens), rounded.
--   with lengths as (select input_tokens as tokens from raw.arrivals) select requests from macros.length_scale('lengths')
create macro macros.length_scale(length_table) as table (
    with whole as (
        select
            count(*) as requests,
            quantile_cont(tokens, [0.5, 0.9, 0.99]) as quantiles
        from query_table(length_table)
    ),

    bins as (
        select
            round(64 * log2(greatest(tokens, 1)))::integer as bin,
            count(*) as requests
        from query_table(length_table)
        group by all
    )

    select
        requests,
        quantiles[1] as p50,
        quantiles[2] as p90,
        case when requests >= 100 then quantiles[3] end as p99,
        (select list({'of': bin, 'requests': bins.requests} order by bin) from bins) as bins
    from whole
);

-- A week's demand in one row: what one reading of its requests tells. hours: single requests and counted ones (macros.counted_hours, which rates has apart) added up.
-- Failed and empty requests count, and no length includes them; a p99 of fewer than 100 lengths is null. input_bins, output_bins: macros.length_bins, of single
-- requests. fullest: the minute with the most of them. cells: of the heat map, by 2 log2(tokens), rounded down. classes: twelve and the
-- others. input, output: macros.length_scale. counted: macros.counts_left_out, and what holds for some hour of macros.counted_hours.
--   with requests as (from macros.service_requests([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)), counts as (from macros.service_counts([{'source_id': 2, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)), lengths as (from macros.service_lengths('counts', [{'source_id': 2}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select counted.unknown from macros.service_demand('requests', 'counts', 'lengths', 604800)
create macro macros.service_demand(request_table, count_table, length_table, week_s) as table (
    with single as (
        select
            since_ns // 3_600_000_000_000 as hour,
            list(distinct source_id) as source_ids,
            count(*) as requests,
            count(*) filter (where not is_measured) as failed_requests,
            sum(input_tokens)::bigint as input_tokens,
            sum(output_tokens)::bigint as output_tokens,
            count(*) filter (where is_measured) >= 100 as has_p99,
            quantile_cont(input_tokens, [0.5, 0.99]) filter (where is_measured) as input_quantiles,
            quantile_cont(output_tokens, [0.5, 0.99]) filter (where is_measured) as output_quantiles
        from query_table(request_table)
        group by hour
    ),

    minutes as (
        select
            since_ns // 60_000_000_000 as minute,
            count(*) as requests
        from query_table(request_table)
        group by minute
    ),

    counted as materialized (
        from macros.counted_hours(count_table, length_table)
    ),

    inputs as not materialized (
        select
            since_ns // 3_600_000_000_000 as hour,
            input_tokens as tokens
        from query_table(request_table)
        where is_measured
    ),

    outputs as not materialized (
        select
            since_ns // 3_600_000_000_000 as hour,
            output_tokens as tokens
        from query_table(request_table)
        where is_measured
    ),

    of_classes as (
        select
            since_ns // 3_600_000_000_000 as hour,
            coalesce(class, '') as name,
            count(*) as requests,
            sum(input_tokens) as input_tokens,
            sum(output_tokens) as output_tokens
        from query_table(request_table)
        group by all
    ),

    counted_classes as (
        select
            hour,
            class,
            sum(amount) filter (where figure in ('requests', 'rejections')) as requests,
            sum(amount) filter (where figure = 'input_tokens') as input_tokens,
            sum(amount) filter (where figure = 'output_tokens') as output_tokens
        from query_table(count_table)
        where is_counted and is_chosen
        group by all
    ),

    classes_of_hours as (
        select
            hour,
            map_from_entries(list((name, requests) order by name)) as classes
        from (
            select
                hour,
                name,
                sum(requests)::bigint as requests
            from (
                select
                    hour,
                    name,
                    requests
                from of_classes
                union all
                select
                    hour,
                    coalesce(class, '') as name,
                    macros.whole(requests) as requests
                from counted_classes
                where requests is not null
            )
            group by all
        )
        group by hour
    ),

    hours as (
        select
            coalesce(single.hour, counted.hour) as place,
            list_sort(list_distinct(coalesce(single.source_ids, []) || coalesce(counted.source_ids, []))) as source_ids,
            coalesce(single.requests, 0) + coalesce(macros.whole(counted.requests)::bigint, 0) as requests,
            coalesce(single.failed_requests, 0) as failed_requests,
            coalesce(single.input_tokens, 0) + coalesce(counted.input_tokens, 0) as input_tokens,
            coalesce(single.output_tokens, 0) + coalesce(counted.output_tokens, 0) as output_tokens,
            peaks.peak_rate_per_s,
            peaks.burst_ratio,
            single.input_quantiles[1] as p50_input_tokens,
            case when single.has_p99 then single.input_quantiles[2] end as p99_input_tokens,
            single.output_quantiles[1] as p50_output_tokens,
            case when single.has_p99 then single.output_quantiles[2] end as p99_output_tokens,
            input_bins.bins as input_bins,
            output_bins.bins as output_bins,
            coalesce(classes_of_hours.classes, map()) as classes,
            coalesce(counted.lacks_tokens, false) as lacks_tokens,
            case when counted.hour is not null then {'requests': counted.requests, 'input': counted.input, 'output': counted.output, 'joint': counted.joint, 'mean_input': counted.mean_input, 'mean_output': counted.mean_output} end as rates
        from single
        full join counted on counted.hour = single.hour
        left join macros.demand_peaks('minutes', count_table, week_s) as peaks on peaks.hour = coalesce(single.hour, counted.hour)
        left join macros.length_bins('inputs') as input_bins on input_bins.hour = single.hour
        left join macros.length_bins('outputs') as output_bins on output_bins.hour = single.hour
        left join classes_of_hours on classes_of_hours.hour = coalesce(single.hour, counted.hour)
    ),

    cells as (
        select
            floor(2 * log2(greatest(input_tokens, 1)))::integer as input,
            floor(2 * log2(greatest(output_tokens, 1)))::integer as output,
            count(*) as requests,
            sum(input_tokens + output_tokens)::bigint as tokens
        from query_table(request_table)
        where is_measured
        group by all
    ),

    classes as (
        select * exclude (hour)
        from of_classes
        union all
        select
            coalesce(counts.class, '') as name,
            macros.whole(counts.requests) as requests,
            macros.whole(coalesce(counts.input_tokens, guessed.input_tokens, 0)) as input_tokens,
            macros.whole(coalesce(counts.output_tokens, guessed.output_tokens, 0)) as output_tokens
        from (
            select
                class,
                sum(requests) as requests,
                sum(input_tokens) as input_tokens,
                sum(output_tokens) as output_tokens
            from counted_classes
            group by class
        ) as counts
        left join (
            select
                class,
                sum(input_tokens) as input_tokens,
                sum(output_tokens) as output_tokens
            from query_table(length_table)
            group by class
        ) as guessed on guessed.class is not distinct from counts.class
        where counts.requests > 0
    ),

    by_name as (
        select
            name,
            sum(requests) as requests,
            sum(input_tokens) as input_tokens,
            sum(output_tokens) as output_tokens,
            row_number() over (order by sum(output_tokens) desc, name) as place
        from classes
        group by name
    ),

    shown_classes as (
        select
            case when place <= 12 then name else 'others' end as name,
            sum(requests)::bigint as requests,
            sum(input_tokens)::bigint as input_tokens,
            sum(output_tokens)::bigint as output_tokens,
            min(place) as place
        from by_name
        group by all
    )

    select
        (select list(hours order by place) from hours) as hours,
        (select arg_max(minutes, (requests, -minute)) from minutes) as fullest,
        (select list(cells order by input, output) from cells) as cells,
        (select list(shown_classes order by place) from shown_classes) as classes,
        (select scale from macros.length_scale('inputs') as scale) as input,
        (select scale from macros.length_scale('outputs') as scale) as output,
        {
            'across_gaps': left_out.across_gaps,
            'in_part': left_out.in_part,
            'refused': left_out.refused,
            'is_coarse': coalesce((select bool_or(is_coarse) from counted), false),
            'is_guessed': coalesce((select bool_or(is_guessed) from counted), false),
            'is_apart': coalesce((select bool_or(is_apart) from counted), false),
            'is_open': coalesce((select bool_or(is_open) from counted), false),
            'unknown': (select count(*) from counted where lacks_tokens)
        } as counted
    from macros.counts_left_out(count_table) as left_out
);

-- The requests of each hour that stand for it in a rehearsal: those of the five minutes that have its fullest minute, and of its other five minutes, the nearest
-- first, until there are enough: a burst of a minute breaks an SLO that the fullest five minutes keep. Of more than most, whole sessions are left out, chosen by a hash. Failed and empty requests are not among them. due_ns: since the hour began.
--   with requests as (from macros.service_requests([{'source_id': 1, 'model': null, 'class': null}], '2026-11-16'::timestamptz, '2026-11-23'::timestamptz)) select count(*) from macros.hour_samples('requests', 2000, 6000)
create macro macros.hour_samples(request_table, enough, most) as table (
    with minutes as (
        select
            since_ns // 3_600_000_000_000 as hour,
            since_ns // 300_000_000_000 as bin,
            since_ns // 60_000_000_000 as minute,
            count(*) as requests
        from query_table(request_table)
        where is_measured
        group by all
    ),

    bins as (
        select
            hour,
            bin,
            sum(requests) as requests,
            max(requests) as fullest
        from minutes
        group by
            hour,
            bin
    ),

    distances as (
        select
            *,
            abs(bin - first_value(bin) over (partition by hour order by fullest desc, requests desc, bin)) as distance
        from bins
    ),

    nearest as (
        select
            hour,
            bin,
            coalesce(sum(requests) over (partition by hour order by distance, bin rows between unbounded preceding and 1 preceding), 0) as nearer,
            sum(requests) over (partition by hour order by distance, bin) as so_far
        from distances
    ),

    chosen as (
        select
            hour,
            bin,
            least(1, most / max(so_far) over (partition by hour)) as share
        from nearest
        where nearer < enough
    ),

    sample as (
        select
            chosen.hour,
            requests.*
        from query_table(request_table) as requests
        inner join chosen on chosen.bin = requests.since_ns // 300_000_000_000
        where requests.is_measured
            and requests.session_key < chosen.share * 18446744073709551615::double
    )

    select
        sample.hour,
        sample.since_ns - sample.hour * 3_600_000_000_000 as due_ns,
        sample.source_id,
        sample.line,
        sample.input_tokens,
        sample.output_tokens,
        coalesce(sample.class, '') as class,
        coalesce(arrivals.session_id, '') as session,
        coalesce(arrivals.turn, 0) as turn,
        coalesce(sources.block_tokens, 0) as block_tokens,
        arrivals.blocks
    from sample
    inner join raw.arrivals as arrivals on arrivals.source_id = sample.source_id
        and arrivals.line = sample.line
    inner join raw.sources as sources on sources.source_id = sample.source_id
);
