-- One row per replay and thing that could make its numbers wrong: what was found, what is allowed, and whether the limit is kept. The
-- first line says how the run ended, the last one is the verdict. A run with a line that breaks has failed, or is invalid (neither pass
-- nor fail). A note breaks nothing by itself, but whoever uses the numbers should know it. If a run has failed, the client's own timing
-- is only a note.
-- Kept per run.
-- group: trust
-- run_id     the replay
-- seq        order in which the lines are read
-- subject    what is looked at
-- measured   what was found, in words
-- bound      what is allowed, in words; null where there is no limit
-- outcome    'ok', 'note' or 'breaks'
-- meaning    why it matters
with looks as (
    select
        run_id,
        count(*) as urls,
        sum(looks)::bigint as looks,
        sum(gaps)::bigint as gaps,
        max(longest_gap_s) as longest_gap_s
    from marts.scrapes
    group by run_id
),

processes as (
    select
        run_id,
        bool_or(is_several) as is_several,
        sum(restarts)::bigint as restarts,
        min(restarted_at_s) as restarted_at_s
    from marts.server_processes
    group by run_id
),

lines as (
    select
        runs.run_id,
        unnest([
            {
                seq: 0,
                subject: 'end',
                measured: concat_ws(
                    '; ',
                    case
                        when not runs.has_ended then 'never: the run was killed, or is still running'
                        when runs.stop_reason is not null then 'before the plan was over: ' || runs.stop_reason
                        else 'when the plan was over'
                    end,
                    runs.absences
                ),
                bound: null::varchar,
                outcome: case
                    when not runs.has_ended or runs.stopped_by in ('server', 'client', 'set-up') then 'breaks'
                    when runs.stopped_by is not null or runs.absences is not null then 'note'
                    else 'ok'
                end,
                meaning: 'why the run ended when it did; a server is gone when it refuses three connections in a row: its requests fail, and go to no other'
            },
            {
                seq: 9,
                subject: 'server''s metrics',
                measured: case
                    when looks.looks is null then 'not looked at'
                    else macros.counted(looks.looks, 'look') || ' at ' || case when looks.urls = 1 then '1 address' else looks.urls || ' addresses' end
                        || coalesce(', at most ' || macros.duration_text(looks.longest_gap_s) || ' apart', '')
                        || case
                            when processes.is_several then '; more than one server answers there: what they count is left out'
                            when processes.restarts > 0
                                then '; the server was restarted' || coalesce(' before ' || macros.duration_text(processes.restarted_at_s), '')
                            else ''
                        end
                end,
                bound: case when looks.looks is not null then 'at most 2.5 s apart' end,
                outcome: case when looks.gaps = 0 and not coalesce(processes.is_several or processes.restarts > 0, false) then 'ok' else 'note' end,
                meaning: 'where a look is missing, nothing is known of the server, and nothing is made up'
            },
            {
                seq: 10,
                subject: 'server''s own times',
                measured: case
                    when coalesce(fidelity.server_timed, 0) = 0 then 'not told'
                    else concat_ws(
                        ', ',
                        'TTFT here ' || macros.duration_text(fidelity.ttft_over_server_s) || ' longer',
                        'time per token here ' || macros.percent_text(abs(fidelity.server_tpot_ratio))
                            || case when fidelity.server_tpot_ratio > 0 then ' shorter' else ' longer' end
                    ) || ' (medians of ' || macros.counted(fidelity.server_timed, 'request') || ')'
                end,
                bound: case when fidelity.server_timed > 0 then 'TTFT not shorter, time per token within 5 %' end,
                outcome: case
                    when fidelity.ttft_over_server_s < -1e-3 or abs(fidelity.server_tpot_ratio) > 5e-2 then 'note'
                    else 'ok'
                end,
                meaning: 'the server''s clock against ours; its TTFT has no network and no HTTP in it'
            },
            {
                seq: 20,
                subject: 'floor',
                measured: case
                    when runs.floor_tpot_s is null then 'not compared: what it ran on is not known'
                    when runs.below_floor = 0 then 'no request decoded faster than memory allows'
                    else macros.counted(runs.below_floor, 'request') || ' of ' || macros.count_text(runs.completed)
                        || ' decoded faster than memory allows'
                end,
                bound: case when runs.floor_tpot_s is not null then 'at most 1 %, or one of ten or more' end,
                outcome: case
                    when runs.below_floor > macros.most_below_floor(runs.completed) then 'breaks'
                    when runs.below_floor > 0 then 'note'
                    else 'ok'
                end,
                meaning: 'nothing is faster: a wrong GPU, model or format, or a clock that is off; the check not_below_floor names them'
            },
            {
                seq: 21,
                subject: 'failures',
                measured: concat_ws(
                    '; ',
                    coalesce(runs.shortfall, 'none of ' || macros.counted(runs.completed + runs.failed, 'request') || ' sent'),
                    case when runs.stopped_by = 'user' and runs.unsent > 0 then macros.count_text(runs.unsent) || ' not sent' end
                ),
                bound: 'at most ' || macros.percent_text(runs.failure_limit_ratio) || ' of the requests',
                outcome: case
                    when runs.has_failed then 'breaks'
                    when runs.failed > 0 or runs.unsent > 0 then 'note'
                    else 'ok'
                end,
                meaning: 'failed requests stay in every denominator; latencies are those of the others'
            },
            {
                seq: 22,
                subject: 'verdict',
                measured: case
                    when not runs.is_valid then 'invalid: ' || runs.invalid_reason
                    when runs.has_failed then 'failed: ' || coalesce(runs.stop_reason, 'more requests failed than are allowed')
                    else 'valid'
                end,
                bound: null::varchar,
                outcome: case when runs.is_valid and not runs.has_failed then 'ok' else 'breaks' end,
                meaning: 'whether the numbers may be used; an invalid run is neither pass nor fail, latencies of a failed one are of its other requests'
            }
        ], recursive := true)
    from marts.runs
    left join marts.fidelity on fidelity.run_id = runs.run_id
    left join looks on looks.run_id = runs.run_id
    left join processes on processes.run_id = runs.run_id
)

select
    kept.run_id,
    kept.seq,
    kept.subject,
    kept.measured,
    kept.bound,
    case when kept.outcome = 'breaks' and runs.has_failed then 'note' else kept.outcome end as outcome,
    kept.meaning
from (
    select
        run_id,
        seq,
        subject,
        measured,
        bound,
        outcome,
        meaning
    from marts.certificate_load
    union all
    select
        run_id,
        seq,
        subject,
        measured,
        bound,
        outcome,
        meaning
    from marts.certificate_client
) as kept
inner join marts.runs on runs.run_id = kept.run_id
union all
select
    run_id,
    seq::integer,
    subject,
    measured,
    bound,
    outcome,
    meaning
from lines
