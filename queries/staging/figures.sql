-- One row per number that another tool printed, with what it means. Numbers of two
-- definition_ids of one quantity are not the same thing: name one of them. Tools print 0 for a latency of which they have no value, such as a
-- time per token of answers of one token: where all statistics of a latency are 0, it is not known.
-- Published per source.
-- group: tools
-- source_id      file that it came from
-- point          measurement, as in staging.points
-- tool           that printed it
-- name           the tool's own word
-- statistic      'mean', 'p50', 'p99', ..., 'value' for a number alone
-- quantity       what it measures in our words: 'ttft_s', 'tpot_s', 'output_tokens_per_s', ...; null: seeds.definitions does not know the word
-- definition_id  how exactly, as in seeds.definitions
-- value          in seconds, tokens, requests or these per second, as the quantity says; null where the unit or the value is not known
-- printed        as the tool printed it
-- unit           that it printed it in
select
    figures.source_id,
    figures.point,
    points.tool,
    figures.name,
    figures.statistic,
    definitions.quantity,
    definitions.definition_id,
    case
        when definitions.quantity is null then null
        when definitions.quantity in ('ttft_s', 'tpot_s', 'itl_s', 'e2e_s')
            and figures.statistic <> 'count'
            and max(figures.value) filter (where figures.statistic <> 'count') over (partition by figures.source_id, figures.point, figures.name) = 0 then null
        when figures.statistic in ('count', 'cv') then figures.value
        else figures.value
            * pow(
                case
                    when figures.unit is not distinct from definitions.unit then definitions.to_si
                    else macros.si_factor(figures.unit)
                end,
                case when figures.statistic = 'variance' then 2 else 1 end
            )
    end as value,
    figures.value as printed,
    figures.unit
from raw.figures
inner join raw.points
    on points.source_id = figures.source_id
    and points.point = figures.point
left join seeds.definitions
    on definitions.tool = points.tool
    and definitions.name = figures.name
