-- One row per ordered pair of runs and case of seeds.lint_rules that comparing them shows. Name both runs: the view has all pairs.
-- group: trust
-- run_id         the run from before
-- other_run_id   the run from after
-- rule           the case, as in seeds.lint_rules
-- found          what was found, in numbers
with sides as (
    select
        runs.run_id,
        runs.warm_up_s,
        case when coalesce(runs.history, 'planned') <> 'answered' then fidelity.cached_ratio - coalesce(fidelity.planned_reuse_ratio, 0) end as foreign_ratio,
        cold.rule is not null as is_cold_start,
        runs.gpus,
        done.output_token_per_s
    from staging.runs
    inner join marts.runs as done on done.run_id = runs.run_id
    left join marts.fidelity on fidelity.run_id = runs.run_id
    left join marts.lint_runs as cold
        on cold.run_id = runs.run_id
        and cold.rule = 'cold_start'
)

select
    run_id,
    other_run_id,
    'not_alike' as rule,
    string_agg(setting || ': ' || coalesce(value, 'not known') || ', then ' || coalesce(other_value, 'not known'), '; ' order by setting) as found
from marts.run_differences
where is_refused
group by
    run_id,
    other_run_id
union all
select
    run_id,
    other_run_id,
    'many_settings',
    count(*) || ' settings of the server: ' || string_agg(setting || ' ' || value || ' to ' || other_value, ', ' order by setting)
from marts.run_differences
where kind = 'server'
    and value is not null
    and other_value is not null
    and not macros.is_derived_setting(setting)
group by
    run_id,
    other_run_id
having count(*) > 1
union all
select
    one.run_id,
    two.run_id,
    'one_arm_warm',
    concat_ws(
        '; ',
        case
            when greatest(one.foreign_ratio, two.foreign_ratio) > 5e-2 and least(one.foreign_ratio, two.foreign_ratio) <= 1e-2
                then 'the server had ' || macros.percent_text(greatest(one.foreign_ratio, 0)) || ' of the prompt tokens from before the first run, '
                    || macros.percent_text(greatest(two.foreign_ratio, 0)) || ' from before the second'
        end,
        case
            when (one.warm_up_s = 0) <> (two.warm_up_s = 0)
                then 'a warm-up of ' || macros.duration_text(one.warm_up_s) || ', then of ' || macros.duration_text(two.warm_up_s)
        end,
        case when one.is_cold_start <> two.is_cold_start then 'the ' || case when one.is_cold_start then 'first' else 'second' end || ' begins on a server that was not warm' end
    )
from sides as one
inner join sides as two on two.run_id <> one.run_id
where greatest(one.foreign_ratio, two.foreign_ratio) > 5e-2 and least(one.foreign_ratio, two.foreign_ratio) <= 1e-2
    or (one.warm_up_s = 0) <> (two.warm_up_s = 0)
    or one.is_cold_start <> two.is_cold_start
union all
select
    one.run_id,
    two.run_id,
    'other_gpus',
    macros.counted(one.gpus, 'GPU') || ', then ' || two.gpus
    || coalesce(
        ': ' || macros.figures(one.output_token_per_s / one.gpus) || ' output tokens/s for each, then ' || macros.figures(two.output_token_per_s / two.gpus),
        ''
    )
from sides as one
inner join sides as two on two.run_id <> one.run_id
where one.gpus <> two.gpus
union all
select
    means.run_id,
    means.other_run_id,
    'tail_rose',
    string_agg(
        'mean ' || means.metric || ' ' || macros.figures(means.ratio) || ' times, ' || tails.statistic || ' ' || macros.figures(tails.ratio) || ' times', '; '
        order by means.metric
    )
from marts.run_pairs as means
inner join (
    select
        run_id,
        other_run_id,
        metric,
        max(statistic) as statistic,
        arg_max(ratio, statistic) as ratio
    from marts.run_pairs
    where statistic in ('p95', 'p99')
        and is_different
        and ratio > 1
    group by
        run_id,
        other_run_id,
        metric
) as tails
    on tails.run_id = means.run_id
    and tails.other_run_id = means.other_run_id
    and tails.metric = means.metric
where means.statistic = 'mean'
    and means.metric <> 'output_token_per_s'
    and means.is_different
    and means.ratio < 1
group by
    means.run_id,
    means.other_run_id
