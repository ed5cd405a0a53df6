-- One row per decision and run: what was found of the run, and what was decided.
-- group: money
-- decision_id     of all runs that were decided on at once
-- place           0: the run that was decided on; then the others
-- run_id          the replay
-- status          'accepted' or 'rejected'
-- why             of this run: the rule at which its path stopped, or why another was chosen
-- reason          of the decision, as the user wrote it
-- decided_by      who decided
-- decided_at      when
-- is_even_so      accepted although its path does not say so
-- contract_name   null: it was decided without one
-- slo_name        of the SLO that it was judged by
-- outcome         of all objectives, as in marts.verdicts; null: no SLO
-- rule            where its path through seeds.decision_tree stopped
-- path            the questions with their answers
-- objectives      what was asked and observed, seconds; of failure_ratio shares
-- shape_source    the contract's traffic; null without one
-- distance        the larger distance (Kolmogorov-Smirnov) of prompt and answer lengths from it
-- distance_limit  the contract's
-- price_per_gpu_hour       that the cost is by; null: not known
-- cost_per_million_accepted_tokens   as in marts.goodput
-- cost_limit               the contract's
-- tpot_s          median time per token, seconds
-- predicted_tpot_s         what the model expected of it, seconds
-- slowdown_ratio  median over requests of measured over predicted time per token
-- fingerprint     of the configuration, as macros.configuration_fingerprint; null of a draft
-- measured_on     what it ran on, in words
-- settings        of the configuration beside that: parallelism, formats, limits
-- origin          'measured', 'simulated' or 'rehearsed'
-- tidemark_version   that recorded it
select
    decisions.decision_id,
    decisions.place,
    decisions.run_id,
    decisions.status,
    decisions.document ->> '$.why' as why,
    decisions.document ->> '$.reason' as reason,
    decisions.document ->> '$.by' as decided_by,
    (decisions.document ->> '$.at')::timestamptz as decided_at,
    coalesce((decisions.document ->> '$.is_even_so')::boolean, false) as is_even_so,
    nullif(decisions.document ->> '$.contract.name', '') as contract_name,
    nullif(decisions.document ->> '$.slo', '') as slo_name,
    nullif(decisions.document ->> '$.outcome', '') as outcome,
    decisions.document ->> '$.rule' as rule,
    coalesce(from_json(decisions.document -> '$.path', '[{"question": "VARCHAR", "answer": "VARCHAR"}]'), []) as path,
    coalesce(from_json(
        decisions.document -> '$.objectives',
        '[{"metric": "VARCHAR", "percentile": "DOUBLE", "class": "VARCHAR", "at_most": "DOUBLE", "observed": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "samples": "BIGINT", "outcome": "VARCHAR", "words": "VARCHAR"}]'
    ), []) as objectives,
    decisions.document ->> '$.contract.shape.source' as shape_source,
    (decisions.document ->> '$.distance')::double as distance,
    (decisions.document ->> '$.contract.shape.distance_at_most')::double as distance_limit,
    (decisions.document ->> '$.price_per_gpu_hour')::double as price_per_gpu_hour,
    (decisions.document ->> '$.cost_per_million_accepted_tokens')::double as cost_per_million_accepted_tokens,
    (decisions.document ->> '$.contract.cost.usd_per_million_at_most')::double as cost_limit,
    (decisions.document ->> '$.tpot_s')::double as tpot_s,
    (decisions.document ->> '$.predicted_tpot_s')::double as predicted_tpot_s,
    (decisions.document ->> '$.slowdown_ratio')::double as slowdown_ratio,
    macros.configuration_fingerprint(runs.deployment) as fingerprint,
    decisions.document ->> '$.measured_on' as measured_on,
    macros.configuration_settings(runs.deployment) as settings,
    runs.origin,
    decisions.document ->> '$.tidemark_version' as tidemark_version
from raw.decisions as decisions
inner join staging.runs as runs on runs.run_id = decisions.run_id
