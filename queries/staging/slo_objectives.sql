-- One row per run and objective of the SLO that it was made for.
-- run_id       the replay
-- slo_name     what the user called the SLO
-- objective    1-based place in it
-- metric       'ttft', 'ttft_from_due', 'tpot', 'e2e', 'e2e_from_due', 'itl' or 'failure_ratio'
-- percentile   99 for p99; null for a ratio
-- at_most      the bound: seconds, or a share of the requests
-- class        requests that it is about; null: all
select
    each.run_id,
    each.slo_name,
    each.objective,
    each.said ->> '$.metric' as metric,
    (each.said ->> '$.percentile')::double as percentile,
    (each.said ->> '$.at_most')::double as at_most,
    nullif(each.said ->> '$.class', '') as class
from (
    select
        runs.run_id,
        runs.document ->> '$.slo.name' as slo_name,
        unnest((runs.document -> '$.slo.objectives')::json[]) as said,
        generate_subscripts((runs.document -> '$.slo.objectives')::json[], 1) as objective
    from raw.runs
) as each
