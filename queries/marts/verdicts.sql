-- One row per replay: what all objectives of its SLO make together. This is the only place that says whether a run met its SLO; whatever counts
-- runs that did reads it here.
--
-- An invalid run is 'invalid', whatever its latencies: it counts nowhere as met. A run in which too many requests failed is 'not met': its
-- latencies are those of the survivors. Then one objective that is not met decides, and then one that is undecided.
-- Kept per run.
-- group: money
-- run_id     the replay
-- slo_name   what the user called the SLO; null where the run has none
-- outcome    'met', 'not met', 'undecided' or 'invalid'; null: the run is valid, did not fail and has no SLO
-- reason     why it is invalid, what failed, or the objectives that decided: 'p99 ttft_from_due; p99 tpot of chat'; null where it is met
with named as (
    select
        *,
        case when percentile is null then '' else 'p' || regexp_replace(percentile::varchar, '[.]0$', '') || ' ' end
        || metric || coalesce(' of ' || class, '') as name
    from marts.slo
),

objectives as (
    select
        run_id,
        any_value(slo_name) as slo_name,
        string_agg(name, '; ' order by objective) filter (where outcome = 'not met') as missed,
        string_agg(name, '; ' order by objective) filter (where outcome = 'undecided') as open
    from named
    group by run_id
)

select
    runs.run_id,
    objectives.slo_name,
    case
        when not runs.is_valid then 'invalid'
        when runs.has_failed or objectives.missed is not null then 'not met'
        when objectives.open is not null then 'undecided'
        when objectives.run_id is not null then 'met'
    end as outcome,
    case
        when not runs.is_valid then runs.invalid_reason
        when runs.has_failed then runs.shortfall
        else coalesce(objectives.missed, objectives.open)
    end as reason
from marts.runs
left join objectives on objectives.run_id = runs.run_id
