-- One row per replay and line of its certificate that is about the client: did it measure the server, or itself? marts.certificate
-- has all lines.
-- Kept per run.
-- group: trust
-- run_id     the replay
-- seq        order in which the lines are read
-- subject    what is looked at
-- measured   what was found, in words
-- bound      what is allowed, in words; null where there is no limit
-- outcome    'ok', 'note' or 'breaks'
-- meaning    why it matters
with answers as (
    select
        run_id,
        count(*) as requests,
        count(*) filter (where read_count = 1) as in_one_read
    from staging.requests
    where is_success
        and not is_warm_up
        and received_tokens >= 2
    group by run_id
),

known as (
    select
        runs.run_id,
        runs.duration_s,
        clients,
        answers.in_one_read,
        answers.requests,
        coalesce(runs.max_lateness_s, 10e-3) as limit_s
    from staging.runs
    left join answers on answers.run_id = runs.run_id
    inner join staging.clients on clients.run_id = runs.run_id
),

lines as (
    select
        known.run_id,
        unnest([
            {
                seq: 11,
                subject: 'late reads',
                measured: 'p50 ' || macros.duration_text(clients.lag_p50_s) || ', p99 ' || macros.duration_text(clients.lag_p99_s)
                    || ', max ' || macros.duration_text(clients.lag_max_s),
                bound: 'p99 at most ' || macros.duration_text(limit_s),
                outcome: case when clients.lag_p99_s > limit_s then 'breaks' else 'ok' end,
                meaning: 'a read can be no more late than the client''s own timers: the error of TTFT'
            },
            {
                seq: 12,
                subject: 'standstill',
                measured: 'at most ' || macros.duration_text(clients.stall_s),
                bound: 'at most ' || macros.duration_text(clients.max_stall_s),
                outcome: case when clients.stall_s > clients.max_stall_s then 'breaks' else 'ok' end,
                meaning: 'the client itself was not suspended or starved while requests were in flight'
            },
            {
                seq: 13,
                subject: 'CPU',
                measured: macros.percent_text(clients.busiest_cpu_ratio) || ' of '
                    || coalesce(macros.counted(clients.cores::integer, 'core'), 'its cores')
                    || ' in the busiest second' || coalesce(', ' || macros.duration_text(clients.cpu_s) || ' in all', ''),
                bound: 'below 80 %',
                outcome: case when clients.busiest_cpu_ratio >= 0.8e0 then 'note' else 'ok' end,
                meaning: 'a client near its limit reads late before it sends late'
            },
            {
                seq: 14,
                subject: 'others on the CPU',
                measured: macros.cpu_line_text(clients, known.duration_s)
                    || coalesce('; others used ' || macros.percent_text(clients.others_cpu_ratio) || ' of its cores', ''),
                bound: 'its threads wait less than 1 % of the run',
                outcome: case when clients.waited_for_others_s >= 1e-2 * known.duration_s then 'note' else 'ok' end,
                meaning: 'while others run, the client reads and sends late'
            },
            {
                seq: 15,
                subject: 'memory',
                measured: nullif(concat_ws(
                    '; ',
                    macros.figures(clients.rss_max_bytes / 1e6) || ' MB at most',
                    macros.counted(clients.gc_cycles::bigint, 'collection') || ' of garbage, ' || macros.duration_text(clients.gc_pause_s)
                ), ''),
                bound: 'collections below 1 % of the run',
                outcome: case when clients.gc_pause_s > 1e-2 * known.duration_s then 'note' else 'ok' end,
                meaning: 'a client that swaps or collects stands still, and no server is to blame'
            },
            {
                seq: 16,
                subject: 'open files',
                measured: macros.count_text(clients.open_files_max) || coalesce(' of ' || macros.count_text(clients.open_files_limit), ''),
                bound: 'below 90 % of the limit',
                outcome: case when clients.open_files_max > 0.9e0 * clients.open_files_limit then 'note' else 'ok' end,
                meaning: 'each request in flight needs one'
            },
            {
                seq: 17,
                subject: 'wall clock',
                measured: case
                    when clients.wall_step_s >= 1e-3 then 'stepped by ' || macros.duration_text(clients.wall_step_s)
                    when clients.wall_step_s is not null then 'did not step'
                end,
                bound: 'no step',
                outcome: case when clients.wall_step_s >= 10e-3 then 'note' else 'ok' end,
                meaning: 'due times and latencies do not look at it; the times of day of this run do'
            },
            {
                seq: 18,
                subject: 'network',
                measured: macros.count_text(clients.retransmits) || ' TCP segments of this host sent again',
                bound: 'none',
                outcome: case when clients.retransmits > 0 then 'note' else 'ok' end,
                meaning: 'a segment that is lost costs 200 ms and more, whatever the server does'
            },
            {
                seq: 19,
                subject: 'coalesced reads',
                measured: nullif(concat_ws(
                    '; ',
                    macros.percent_text(clients.coalesced_ratio) || ' of the token chunks came in a read with another',
                    case when known.in_one_read > 0
                        then macros.count_text(known.in_one_read) || ' of ' || macros.counted(known.requests, 'answer')
                            || ' came whole in one read: no time per token but 0'
                    end
                ), ''),
                bound: 'below 10 %, and of whole answers below 1 %',
                outcome: case when clients.coalesced_ratio >= 0.1e0 or known.in_one_read >= 1e-2 * known.requests and known.in_one_read > 0 then 'note' else 'ok' end,
                meaning: 'chunks of one read bear one instant: gaps between them are not the server''s'
            }
        ], recursive := true)
    from known
)

select
    run_id,
    seq::integer as seq,
    subject,
    coalesce(measured, 'not known') as measured,
    case when measured is not null then bound end as bound,
    case when measured is null then 'note' else outcome end as outcome,
    meaning
from lines
