-- One row per run and figure of its load that a diagnosis looks at: what the client sent, in which order, and what came back.
-- Warm-up is left out. staging.evidence_figures says what each figure is.
-- Kept per run.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with requests as (
    select
        requests.run_id,
        requests.seq,
        requests.is_sent,
        requests.is_success,
        requests.failure,
        requests.http_status,
        requests.due_s,
        requests.sent_s,
        requests.first_token_s,
        requests.last_token_s,
        max(requests.last_token_s) over (partition by requests.run_id) as last_of_all_s,
        requests.ttft_s,
        requests.e2e_s,
        coalesce(requests.done_s, requests.last_token_s, requests.sent_s) as done_s,
        coalesce(requests.input_tokens_reported, requests.input_tokens) as prompt_tokens,
        coalesce(requests.input_tokens_reported, requests.input_tokens) - coalesce(requests.cached_tokens, 0) as uncached_tokens,
        requests.input_tokens,
        requests.cached_tokens,
        requests.shared_tokens,
        runs.mode
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where not requests.is_warm_up
),

gaps as (
    select
        run_id,
        var_samp(gap_s) / nullif(pow(avg(gap_s), 2), 0) as gap_cv2
    from (
        select
            run_id,
            sent_s - lag(sent_s) over (partition by run_id order by sent_s) as gap_s
        from requests
        where is_sent
            and mode = 'open'
    ) as each
    group by run_id
    having count(gap_s) >= 30
),

counts as (
    select
        run_id,
        count(*) filter (where is_success) as completed,
        count(*) filter (where is_sent or failure is not null) as tried,
        count(*) filter (where failure is not null) / nullif(tried, 0) as failed_ratio,
        count(*) filter (where failure = 'refused') / nullif(tried, 0) as refused_ratio,
        count(*) filter (where failure in ('timeout_first_byte', 'timeout_between_bytes', 'connect')) / nullif(tried, 0) as timed_out_ratio,
        count(*) filter (where failure <> 'cancelled' and due_s > coalesce(last_of_all_s, -1)) as unanswered_at_end,
        count(*) filter (where http_status in (429, 503)) as requests_rejected,
        median(ttft_s) filter (where is_success) as p50_ttft_s,
        case when count(*) filter (where is_success) >= 100 then quantile_cont(ttft_s, 0.99) filter (where is_success) end as p99_ttft_s,
        sum(shared_tokens) / nullif(sum(input_tokens) filter (where shared_tokens is not null), 0) as shared_ratio,
        sum(cached_tokens) / nullif(sum(prompt_tokens) filter (where cached_tokens is not null), 0) as cached_ratio,
        quantile_cont(uncached_tokens, 0.99) / nullif(median(uncached_tokens), 0) as prompt_tail_ratio
    from requests
    group by run_id
),

-- Warm-up counts here, because it is in flight too.
crowds as (
    select
        run_id,
        max(in_flight) as peak_in_flight,
        sum(in_flight * length_s) / nullif(sum(length_s), 0) as mean_in_flight
    from (
        select
            run_id,
            sum(change) over in_time as in_flight,
            lead(at_s) over in_time - at_s as length_s
        from (
            select
                run_id,
                unnest([sent_s, coalesce(done_s, last_token_s, sent_s)]) as at_s,
                unnest([1, -1]) as change
            from staging.requests
            where is_sent
        ) as each
        window in_time as (partition by run_id order by at_s, change)
    ) as heights
    group by run_id
),

-- After the first answers (as marts.trends has it), as many requests should end as start.
kept_up as (
    select
        trends.run_id,
        count(*) filter (where requests.done_s between spans.from_s and spans.until_s)
        / nullif(count(*) filter (where requests.sent_s between spans.from_s and spans.until_s), 0) as completion_ratio
    from (select distinct run_id from marts.trends where level = 'in flight') as trends
    inner join (
        select
            run_id,
            min(sent_s) + greatest(2 * median(e2e_s), coalesce(max(last_token_s - first_token_s) filter (where is_early), 0)) as from_s,
            max(sent_s) as until_s
        from (
            select
                *,
                sent_s <= 0.75e0 * min(sent_s) over (partition by run_id) + 0.25e0 * max(sent_s) over (partition by run_id) as is_early
            from requests
            where is_sent
        ) as each
        group by run_id
    ) as spans on spans.run_id = trends.run_id
    inner join requests on requests.run_id = trends.run_id
    group by trends.run_id
),

climbs as (
    select
        run_id,
        max(low_slope_per_s) filter (where level = 'in flight') as in_flight_low_slope_per_s,
        max(growth_ratio) filter (where level = 'in flight') as in_flight_growth_ratio,
        max(growth) filter (where level = 'in flight') as in_flight_growth,
        max(low_slope_per_s) filter (where level = 'queue') as queue_low_slope_per_s,
        max(growth_ratio) filter (where level = 'queue') as queue_growth_ratio,
        max(growth) filter (where level = 'queue') as queue_growth
    from marts.trends
    group by run_id
),

objectives as (
    select
        run_id,
        count(*) filter (where percentile = 99) as p99_objectives,
        count(*) filter (where metric = 'tpot' and outcome = 'not met') as tpot_objectives_missed
    from (
        select
            objectives.run_id,
            objectives.percentile,
            objectives.metric,
            slo.outcome
        from staging.slo_objectives as objectives
        left join marts.slo on slo.run_id = objectives.run_id and slo.objective = objectives.objective
    ) as each
    group by run_id
),

absences as (
    select
        run_id,
        count(distinct endpoint) as servers
    from staging.absences
    group by run_id
),

known as (
    select
        runs.run_id,
        absences.servers as servers_gone,
        runs.stopped_by = 'server' as is_none_left,
        counts,
        crowds,
        climbs,
        gaps.gap_cv2,
        kept_up.completion_ratio,
        objectives,
        clients.lag_p99_s / coalesce(runs.max_lateness_s, 10e-3) as lag_limit_ratio,
        clients.stall_s / nullif(clients.max_stall_s, 0) as stall_limit_ratio,
        clients,
        case when runs.mode <> 'closed' then fidelity.p99_lateness_s / coalesce(runs.max_lateness_s, 10e-3) end as lateness_limit_ratio,
        closed_loops,
        -- The lateness that broke a limit: other processes explain it or they do not.
        greatest(
            case when lateness_limit_ratio > 1 or not closed_loops.is_kept then fidelity.p99_lateness_s end,
            case when lag_limit_ratio > 1 then clients.lag_p99_s end,
            case when stall_limit_ratio > 1 then clients.stall_s end
        ) as late_s,
        case when runs.mode = 'closed' then runs.max_concurrency end as concurrency
    from staging.runs
    left join counts on counts.run_id = runs.run_id
    left join absences on absences.run_id = runs.run_id
    left join crowds on crowds.run_id = runs.run_id
    left join climbs on climbs.run_id = runs.run_id
    left join gaps on gaps.run_id = runs.run_id
    left join kept_up on kept_up.run_id = runs.run_id
    left join objectives on objectives.run_id = runs.run_id
    left join staging.clients on clients.run_id = runs.run_id
    left join marts.fidelity on fidelity.run_id = runs.run_id
    left join marts.closed_loops on closed_loops.run_id = runs.run_id
)

select
    run_id,
    unnest(macros.known_figures([
        {'figure': 'completed', 'value': counts.completed::double},
        {'figure': 'failed_ratio', 'value': counts.failed_ratio},
        {'figure': 'servers_gone', 'value': servers_gone::double},
        {'figure': 'no_server_left', 'value': case when is_none_left then 1 end},
        {'figure': 'refused_ratio', 'value': counts.refused_ratio},
        {'figure': 'timed_out_ratio', 'value': counts.timed_out_ratio},
        {'figure': 'unanswered_at_end', 'value': counts.unanswered_at_end::double},
        {'figure': 'requests_rejected', 'value': counts.requests_rejected},
        {'figure': 'p50_ttft_s', 'value': counts.p50_ttft_s},
        {'figure': 'p99_ttft_s', 'value': counts.p99_ttft_s},
        {'figure': 'ttft_tail_ratio', 'value': counts.p99_ttft_s / nullif(counts.p50_ttft_s, 0)},
        {'figure': 'shared_ratio', 'value': counts.shared_ratio},
        {'figure': 'cached_ratio', 'value': counts.cached_ratio},
        {'figure': 'prompt_tail_ratio', 'value': counts.prompt_tail_ratio},
        {'figure': 'gap_cv2', 'value': gap_cv2},
        {'figure': 'peak_in_flight', 'value': crowds.peak_in_flight},
        {'figure': 'concurrency', 'value': concurrency},
        {'figure': 'closed_loop_late_ratio', 'value': closed_loops.late_ratio},
        {'figure': 'in_flight_low_slope_per_s', 'value': climbs.in_flight_low_slope_per_s},
        {'figure': 'in_flight_growth_ratio', 'value': climbs.in_flight_growth_ratio},
        {'figure': 'in_flight_growth', 'value': climbs.in_flight_growth},
        {'figure': 'queue_low_slope_per_s', 'value': climbs.queue_low_slope_per_s},
        {'figure': 'queue_growth_ratio', 'value': climbs.queue_growth_ratio},
        {'figure': 'queue_growth', 'value': climbs.queue_growth},
        {'figure': 'completion_ratio', 'value': completion_ratio},
        {'figure': 'p99_objectives', 'value': objectives.p99_objectives},
        {'figure': 'tpot_objectives_missed', 'value': objectives.tpot_objectives_missed},
        {'figure': 'lateness_limit_ratio', 'value': lateness_limit_ratio},
        {'figure': 'lag_limit_ratio', 'value': lag_limit_ratio},
        {'figure': 'stall_limit_ratio', 'value': stall_limit_ratio},
        {'figure': 'client_cpu_ratio', 'value': clients.busiest_cpu_ratio},
        {'figure': 'others_wait_ratio', 'value': macros.others_wait_ratio(clients, late_s)},
        {'figure': 'waited_for_others_s', 'value': clients.waited_for_others_s},
        {'figure': 'cpu_pressure_ratio', 'value': clients.cpu_pressure_ratio}
    ]), recursive := true)
from known
