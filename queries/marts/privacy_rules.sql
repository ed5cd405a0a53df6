-- One row per source that was exported under privacy rules, and rule: what its manifest says of it.
-- group: trust
-- source_name   what the user calls it
-- rule          number of the rule
-- truth         what it holds
-- verdict       whether the export kept it, as it was checked when it was made
-- figures       on what figures
-- k             requests that a cell holds at least, as asked for
-- tick_s        to what times were cut, seconds
with rules as (
    select
        source_id,
        document,
        unnest(document -> '$.rules[*]') as rule
    from staging.manifests
)

select
    sources.source_name,
    (rules.rule ->> 'rule')::integer as rule,
    rules.rule ->> 'truth' as truth,
    rules.rule ->> 'verdict' as verdict,
    rules.rule ->> 'figures' as figures,
    (rules.document -> 'parameters' ->> 'k')::bigint as k,
    (rules.document -> 'parameters' ->> 'tick_s')::double as tick_s
from rules
join staging.sources on sources.source_id = rules.source_id
