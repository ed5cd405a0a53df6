-- One row per replay and line of its certificate that is about the load: did the server get what the plan asked for? marts.certificate
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
with known as (
    select
        runs,
        fidelity,
        closed_loops,
        coalesce(runs.max_lateness_s, 10e-3) as limit_s,
        -- The most that may be cached: in a cold run nothing; in one that started with an empty cache, what its own prompts share.
        case runs.cache_asked
            when 'cold' then 1e-2
            when 'reset' then coalesce(fidelity.planned_reuse_ratio, 0) + 1e-2
        end as most_cached_ratio,
        -- Cached beyond what the plan's own prompts share; without blocks they share nothing.
        fidelity.cached_ratio - coalesce(fidelity.planned_reuse_ratio, 0) as foreign_ratio,
        case when fidelity.planned_reuse_ratio is null then 1e-2 else 5e-2 end as most_foreign_ratio,
        case when fidelity.sent > 1 then coalesce((fidelity.sent - 1) / fidelity.sent_per_s, 0) end as sending_s
    from staging.runs
    left join marts.fidelity on fidelity.run_id = runs.run_id
    left join marts.closed_loops on closed_loops.run_id = runs.run_id
),

lines as (
    select
        runs.run_id,
        unnest([
            {
                seq: 1,
                subject: 'lateness',
                measured: 'p50 ' || macros.duration_text(fidelity.p50_lateness_s)
                    || case when fidelity.sent >= 100 then ', p99 ' || macros.duration_text(fidelity.p99_lateness_s) else '' end
                    || ', max ' || macros.duration_text(fidelity.max_lateness_s),
                bound: case when runs.mode <> 'closed' then 'p99 at most ' || macros.duration_text(limit_s) end,
                outcome: case when runs.mode <> 'closed' and fidelity.p99_lateness_s > limit_s then 'breaks' else 'ok' end,
                meaning: case
                    when runs.mode = 'closed' then 'how long after its slot came free a request went out; slots that come free together make some late'
                    else 'how long after its due time a request went out; what a cap held back is not in it'
                end
            },
            {
                seq: 2,
                subject: 'rate',
                measured: case
                    when runs.mode = 'open' and fidelity.planned_per_s is null
                        then case when sending_s is not null
                            then 'planned at one instant, sent within ' || macros.duration_text(sending_s)
                            else macros.counted(fidelity.sent, 'request') || ' alone: no rate'
                        end
                    when runs.mode = 'open'
                        then 'planned ' || macros.figures(fidelity.planned_per_s) || '/s, sent ' || macros.figures(fidelity.sent_per_s)
                            || '/s' || case when not fidelity.tail_ratio between 0.5e0 and 2e0
                                then '; as planned, its last tenth has ' || macros.percent_text(fidelity.tail_ratio) || ' of the mean rate'
                                else ''
                            end
                    else 'sent ' || macros.figures(fidelity.sent_per_s) || '/s, as fast as the server let them ('
                        || case runs.mode when 'closed' then 'closed loop' else runs.mode end || ')'
                end,
                bound: case
                    when runs.mode = 'open' and fidelity.planned_per_s > 0 then 'within 1 % of the plan'
                    when runs.mode = 'open' and sending_s is not null then 'within ' || macros.duration_text(limit_s)
                end,
                outcome: case
                    when runs.mode = 'open' and fidelity.planned_per_s > 0
                        and coalesce(abs(fidelity.sent_per_s / fidelity.planned_per_s - 1), 1) > 1e-2 then 'note'
                    when runs.mode = 'open' and fidelity.planned_per_s is null and sending_s > limit_s then 'note'
                    else 'ok'
                end,
                meaning: 'the server got the load that the plan asked for'
            },
            {
                seq: 3,
                subject: 'in flight',
                measured: case
                    when runs.mode = 'closed' and closed_loops.asked is null
                        then 'peak ' || fidelity.peak_in_flight || ' of ' || runs.max_concurrency || ': the plan is too short, no slot was used twice'
                    when runs.mode = 'closed'
                        then 'kept ' || macros.figures(closed_loops.mean_in_flight) || ' of ' || closed_loops.asked || ', '
                            || macros.percent_text(closed_loops.kept_concurrency_ratio) || ', without the ramps; the client''s lateness cost '
                            || macros.percent_text(closed_loops.late_ratio)
                    else 'peak ' || fidelity.peak_in_flight || ', mean ' || macros.figures(fidelity.mean_in_flight)
                        || '; had each gone out when due: peak ' || fidelity.planned_peak_in_flight
                        || ', mean ' || macros.figures(fidelity.planned_mean_in_flight)
                        || case when fidelity.held > 0 then '; a cap held back ' || macros.counted(fidelity.held, 'request') else '' end
                end,
                bound: case
                    when runs.mode <> 'closed' then 'peak within 5 % or 2 requests'
                    when closed_loops.asked is not null then 'at least 99 %'
                end,
                outcome: case
                    when not closed_loops.is_kept then 'breaks'
                    when runs.mode = 'closed' and closed_loops.asked is null then 'note'
                    when closed_loops.kept_concurrency_ratio < 0.99e0 then 'note'
                    when runs.mode <> 'closed' and abs(fidelity.peak_in_flight - fidelity.planned_peak_in_flight)
                        > greatest(2, 0.05e0 * fidelity.planned_peak_in_flight) then 'note'
                    else 'ok'
                end,
                meaning: case
                    when runs.mode = 'closed' then 'as many were in flight as were asked for; less is the client''s fault, or its plan''s'
                    else 'bursts stayed bursts: the client did not smooth what the plan meant to collide'
                end
            },
            {
                seq: 4,
                subject: 'prompt tokens',
                measured: macros.tokens_text(
                    fidelity.compared_prompts, fidelity.input_tokens_asked, fidelity.input_tokens_got,
                    fidelity.inputs_short, fidelity.inputs_long
                ),
                bound: 'as asked',
                outcome: case when fidelity.compared_prompts > 0 and fidelity.inputs_short + fidelity.inputs_long = 0 then 'ok' else 'note' end,
                meaning: 'servers cut and add to prompts without an error'
            },
            {
                seq: 5,
                subject: 'answer tokens',
                measured: macros.tokens_text(
                    fidelity.compared_answers, fidelity.output_tokens_asked, fidelity.output_tokens_got,
                    fidelity.outputs_short, fidelity.outputs_long
                ) || case
                    when fidelity.outputs_clamped > 0
                        then '; ' || macros.count_text(fidelity.outputs_clamped) || ' cut by a limit of the server'
                    else ''
                end,
                bound: 'as asked',
                outcome: case when fidelity.compared_answers > 0 and fidelity.outputs_short + fidelity.outputs_long = 0 then 'ok' else 'note' end,
                meaning: 'servers stop early, clamp and ignore lengths without an error; each is a failure by its kind'
            },
            {
                seq: 6,
                subject: 'prefix reuse',
                measured: case
                    when fidelity.cached_ratio is null then 'not known: the server does not say what it had cached'
                    else 'planned ' || macros.percent_text(coalesce(fidelity.planned_reuse_ratio, 0))
                        || case when fidelity.planned_reuse_ratio is null then ' (no blocks)' else '' end
                        || ', cached ' || macros.percent_text(fidelity.cached_ratio) || ': '
                        || macros.figures(100 * foreign_ratio) || ' points'
                        || case when foreign_ratio > most_foreign_ratio
                            then '; the server had ' || macros.percent_text(foreign_ratio)
                                || ' of the prompts from before: an earlier run''s, or another client''s'
                                || case when runs.history = 'answered' then ', or its own answers' else '' end
                            else ''
                        end
                end,
                bound: case
                    when fidelity.planned_reuse_ratio is null then 'at most 1 % cached'
                    when runs.cache_asked = 'cold' then 'at most 5 points above the plan'
                    else 'within 5 points'
                end,
                outcome: case
                    when fidelity.cached_ratio is null or foreign_ratio > most_foreign_ratio then 'note'
                    when coalesce(runs.cache_asked, '') <> 'cold' and foreign_ratio < -5e-2 then 'note'
                    else 'ok'
                end,
                meaning: 'share of prompt tokens that were seen before: by the plan, and by the server''s count'
            },
            {
                seq: 7,
                subject: 'cache',
                measured: case
                    when coalesce(runs.cache_method, 'none') = 'none' then 'left as it was'
                    when runs.cache_method = 'reset' then 'emptied before the run'
                    else 'kept apart by a ' || replace(runs.cache_method, '_', ' ')
                end || case
                    when most_cached_ratio is null then ''
                    when fidelity.cached_ratio is null then ': not proven, the server does not say what it had cached'
                    when fidelity.cached_ratio > most_cached_ratio
                        then ': ' || macros.percent_text(fidelity.cached_ratio) || ' cached, this row is warm'
                    else ': ' || macros.percent_text(fidelity.cached_ratio) || ' cached'
                end,
                bound: 'at most ' || macros.percent_text(most_cached_ratio) || ' cached',
                outcome: case
                    when most_cached_ratio is not null and coalesce(fidelity.cached_ratio, 1) > most_cached_ratio then 'note'
                    else 'ok'
                end,
                meaning: 'a row that was to be cold is cold: draining empties no prefix cache'
            },
            {
                seq: 8,
                subject: 'drain',
                measured: case
                    when runs.is_drained is null then 'not known: the server did not say what it ran'
                    when runs.is_drained then 'the server ran nothing before the first request'
                    else 'the server still ran other requests'
                end || case when runs.running_before > 0 then ' (' || runs.running_before::bigint || ' when first asked, waited '
                    || macros.duration_text(runs.drain_waited_s) || ')' else '' end,
                bound: 'nothing running',
                outcome: case when runs.is_drained then 'ok' else 'note' end,
                meaning: 'nobody else''s load is in these numbers'
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
    case when measured is null and outcome = 'ok' then 'note' else outcome end as outcome,
    meaning
from lines
