-- One row per run and objective of the SLO that it was made for.
-- Kept per run.
-- group: money
-- run_id       the replay
-- slo_name     what the user called the SLO
-- objective    1-based place in it
-- metric       'ttft', 'ttft_from_due', 'tpot', 'e2e', 'e2e_from_due', 'itl' or 'failure_ratio', each literally; in tidemark.slo/1 and in
--              runs that name no schema 'ttft' and 'e2e' mean from due
-- percentile   99 for p99; null for a ratio
-- at_most      the bound: seconds, or a share of the requests
-- class        requests that it is about; null: all
-- price_per_gpu_hour   that the SLO names, in whatever currency; null: none
select
    each.run_id,
    each.slo_name,
    each.objective,
    case
        when each.is_first_schema and (each.said ->> '$.metric') in ('ttft', 'e2e') then (each.said ->> '$.metric') || '_from_due'
        else each.said ->> '$.metric'
    end as metric,
    (each.said ->> '$.percentile')::double as percentile,
    (each.said ->> '$.at_most')::double as at_most,
    nullif(each.said ->> '$.class', '') as class,
    each.price_per_gpu_hour
from (
    select
        runs.run_id,
        runs.document ->> '$.slo.name' as slo_name,
        (runs.document ->> '$.slo.cost.per_gpu_hour')::double as price_per_gpu_hour,
        coalesce(runs.document ->> '$.slo.schema', 'tidemark.slo/1') = 'tidemark.slo/1' as is_first_schema,
        unnest((runs.document -> '$.slo.objectives')::json[]) as said,
        generate_subscripts((runs.document -> '$.slo.objectives')::json[], 1) as objective
    from raw.runs
) as each
