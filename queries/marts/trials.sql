-- One row per finished trial of a search over settings, and whether another trial beats it in everything that was searched for. The unbeaten
-- trials are the Pareto front to choose from. The search's own choice is not used.
-- group: tools
-- source_name           file of the trials
-- point                 trial in it
-- label                 its number in the search
-- settings              its parameters, and which objectives are to be large
-- objectives            what it reached, by the objective's name
-- are_directions_known  the file or the user says which objectives are to be large; false: all are assumed to be small
-- beaten_by             trials at least as good in every objective, and better in one; null where an objective is blank or no number: such
--                       a trial neither beats another nor is beaten
-- is_unbeaten           it has every objective, and no trial beats it
with objectives as (
    select
        points.source_id,
        points.source_name,
        points.point,
        points.label,
        points.settings,
        figures.name,
        figures.printed as reached,
        case
            when (points.settings ->> ('$."objective.' || figures.name || '"')) = 'maximize' then -figures.printed
            else figures.printed
        end as cost
    from staging.points
    inner join staging.figures
        on figures.source_id = points.source_id
        and figures.point = points.point
    where points.tool = 'optuna'
        and (figures.name = 'value' or starts_with(figures.name, 'values_'))
        and (points.settings ->> '$.state') = 'COMPLETE'
),

trials as (
    select
        source_id,
        source_name,
        point,
        any_value(label) as label,
        any_value(settings) as settings,
        count(*) filter (where not isnan(reached)) as numbers,
        map(list(name order by name), list(reached order by name)) as objectives
    from objectives
    group by
        source_id,
        source_name,
        point
),

-- Trials that have a number for every objective that a trial of their file has.
whole as (
    select
        trials.source_id,
        trials.point
    from trials
    inner join (
        select
            source_id,
            count(distinct name) as objectives
        from objectives
        group by source_id
    ) as searched on searched.source_id = trials.source_id
    where trials.numbers = searched.objectives
),

comparisons as (
    select
        mine.source_id,
        mine.point,
        theirs.point as other_point,
        bool_and(theirs.cost <= mine.cost) and bool_or(theirs.cost < mine.cost) as is_beaten
    from objectives as mine
    semi join whole
        on whole.source_id = mine.source_id
        and whole.point = mine.point
    inner join (
        select objectives.*
        from objectives
        semi join whole
            on whole.source_id = objectives.source_id
            and whole.point = objectives.point
    ) as theirs
        on theirs.source_id = mine.source_id
        and theirs.name = mine.name
        and theirs.point <> mine.point
    group by
        mine.source_id,
        mine.point,
        theirs.point
),

beaten as (
    select
        source_id,
        point,
        count(*) filter (where is_beaten) as beaten_by
    from comparisons
    group by
        source_id,
        point
)

select
    trials.source_name,
    trials.point,
    trials.label,
    trials.settings,
    trials.objectives,
    (trials.settings ->> '$.are_directions_known')::boolean as are_directions_known,
    case when whole.point is not null then coalesce(beaten.beaten_by, 0) end as beaten_by,
    whole.point is not null and coalesce(beaten.beaten_by, 0) = 0 as is_unbeaten
from trials
left join whole
    on whole.source_id = trials.source_id
    and whole.point = trials.point
left join beaten
    on beaten.source_id = trials.source_id
    and beaten.point = trials.point
