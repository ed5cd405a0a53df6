-- One row per series of runs (an experiment) and case of seeds.lint_rules that it shows. marts.lint has these with the rest.
-- group: trust
-- series_id   the series
-- rule        the case, as in seeds.lint_rules
-- found       what was found, in numbers
with settings as (
    select
        runs.series_id,
        settings.setting,
        count(distinct coalesce(settings.effective, settings.asked)) as several,
        string_agg(distinct coalesce(settings.effective, settings.asked), ', ' order by coalesce(settings.effective, settings.asked)) as said
    from staging.server_settings as settings
    inner join staging.runs on runs.run_id = settings.run_id
    where runs.series_id is not null
        and settings.setting <> runs.variable
        and not macros.is_derived_setting(settings.setting)
    group by
        runs.series_id,
        settings.setting
),

shares as (
    select
        runs.series_id,
        fidelity.cached_ratio - coalesce(fidelity.planned_reuse_ratio, 0) as foreign_ratio
    from staging.runs
    inner join marts.fidelity on fidelity.run_id = runs.run_id
    where runs.series_id is not null
        and runs.variable <> 'cache'
        and coalesce(runs.history, 'planned') <> 'answered'
)

select
    series_id,
    'many_settings' as rule,
    'beside ' || (select any_value(variable) from staging.runs where runs.series_id = settings.series_id) || ': '
    || string_agg(setting || ' (' || said || ')', ', ' order by setting) as found
from settings
where several > 1
group by series_id
union all
select
    series_id,
    'mixed_cache',
    'in ' || count(*) filter (where foreign_ratio > 5e-2) || ' of ' || count(*) || ' runs the server had prompts from before, up to '
    || macros.percent_text(max(foreign_ratio)) || '; in ' || count(*) filter (where foreign_ratio <= 1e-2) || ' it had none'
from shares
group by series_id
having max(foreign_ratio) > 5e-2
    and min(foreign_ratio) <= 1e-2
