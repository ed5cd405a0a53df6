-- One row per replay and line of its certificate that is about the load: was what the plan
-- asked for what the server got. marts.certificate has all lines, and says what its columns mean.
-- run_id     the replay
-- seq        order in which the lines are read
-- subject    what is looked at
-- measured   what was found, in words
-- bound      what is allowed, in words; null where nothing is asked
-- outcome    'ok', 'note' or 'breaks'
-- meaning    why it matters
with known as (
    select
        runs,
        fidelity,
        coalesce(runs.max_lateness_s, 10e-3) as limit_s,
        -- What may be cached: nothing of a cold run; of one that began empty, what its own prompts share.
        case runs.cache_asked
            when 'cold' then 1e-2
            when 'reset' then coalesce(fidelity.planned_reuse_ratio, 0) + 1e-2
        end as most_cached_ratio
    from staging.runs
    left join marts.fidelity on fidelity.run_id = runs.run_id
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
                bound: 'p99 at most ' || macros.duration_text(limit_s),
                outcome: case when fidelity.p99_lateness_s > limit_s then 'breaks' else 'ok' end,
                meaning: 'how long after its due time a request went out; what a cap held back is not in it'
            },
            {
                seq: 2,
                subject: 'rate',
                measured: case
                    when runs.mode = 'open'
                        then coalesce('planned ' || macros.figures(fidelity.planned_per_s) || '/s', 'planned at one instant')
                            || ', sent ' || macros.figures(fidelity.sent_per_s) || '/s'
                            || case
                                when fidelity.planned_per_s > 0
                                    then '; the last tenth of the plan has ' || macros.percent_text(fidelity.tail_ratio) || ' of its mean rate'
                                else ''
                            end
                    else 'sent ' || macros.figures(fidelity.sent_per_s) || '/s, as fast as the server let them ('
                        || case runs.mode when 'closed' then 'closed loop' else runs.mode end || ')'
                end,
                bound: case when runs.mode = 'open' then 'within 1 % of the plan' end,
                outcome: case
                    when runs.mode = 'open' and coalesce(abs(fidelity.sent_per_s / nullif(fidelity.planned_per_s, 0) - 1), 1) > 1e-2 then 'note'
                    else 'ok'
                end,
                meaning: 'the load that the plan asked for is the load that the server got'
            },
            {
                seq: 3,
                subject: 'in flight',
                measured: 'peak ' || fidelity.peak_in_flight || ', mean ' || macros.figures(fidelity.mean_in_flight)
                    || '; had each gone out when due: peak ' || fidelity.planned_peak_in_flight
                    || ', mean ' || macros.figures(fidelity.planned_mean_in_flight)
                    || case when fidelity.held > 0 then '; a cap held back ' || macros.counted(fidelity.held, 'request') else '' end,
                bound: 'peak within 5 % or 2 requests',
                outcome: case
                    when abs(fidelity.peak_in_flight - fidelity.planned_peak_in_flight)
                        > greatest(2, 0.05e0 * fidelity.planned_peak_in_flight) then 'note'
                    else 'ok'
                end,
                meaning: 'bursts stayed bursts: the client did not smooth what the plan meant to collide'
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
                    when fidelity.planned_reuse_ratio is null then macros.percent_text(fidelity.cached_ratio) || ' cached; the plan has no blocks'
                    else 'planned ' || macros.percent_text(fidelity.planned_reuse_ratio) || ', cached '
                        || macros.percent_text(fidelity.cached_ratio) || ': '
                        || macros.figures(100 * (fidelity.cached_ratio - fidelity.planned_reuse_ratio)) || ' points'
                end,
                bound: case when fidelity.planned_reuse_ratio is not null and coalesce(most_cached_ratio, 1) > 1e-2 then 'within 5 points' end,
                outcome: case
                    when runs.cache_asked <> 'cold' and abs(fidelity.cached_ratio - fidelity.planned_reuse_ratio) > 5e-2 then 'note'
                    when fidelity.cached_ratio is null then 'note'
                    else 'ok'
                end,
                meaning: 'share of prompt tokens that had been seen before, by plan and by the server'
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
