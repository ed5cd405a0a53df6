-- One row per decision: what was decided on, by whom, when and why, and what was known then.
--
-- A decision is of what was decided then: a later one adds a row, and this one stays. Figures are those of run_id.
-- group: money
-- decision_id         its name
-- decided_at          when
-- decided_by          who
-- reason              as they wrote it
-- run_id              the run that was decided on; of a series the one that was chosen
-- status              of that run: 'accepted' or 'rejected'
-- is_even_so          accepted although the path does not say so
-- rule                where the path through seeds.decision_tree stopped
-- contract_name       null: decided without one
-- slo_name            of the SLO; null: none
-- outcome             of its objectives together, as in marts.verdicts
-- objectives          what was asked and what was observed, in words, with 90 % intervals
-- distance            of the run's lengths from the contract's traffic
-- distance_limit      the contract's
-- cost_per_million_accepted_tokens   of the run
-- cost_limit          the contract's
-- tpot_s              median time per token, seconds
-- predicted_tpot_s    what the model expected of it, seconds
-- slowdown_ratio      median over requests of measured over predicted time per token
-- accepted_run_ids    all runs of the decision that were accepted
-- rejected_run_ids    all runs that were rejected; marts.rejected says why
-- fingerprint         of the run's configuration
-- measured_on         what the run ran on
-- settings            of its configuration beside that: parallelism, formats, limits
-- origin              'measured', 'simulated' or 'rehearsed'
select
    decision_id,
    any_value(decided_at) as decided_at,
    any_value(decided_by) as decided_by,
    any_value(reason) as reason,
    any_value(run_id) filter (where place = 0) as run_id,
    any_value(status) filter (where place = 0) as status,
    any_value(is_even_so) filter (where place = 0) as is_even_so,
    any_value(rule) filter (where place = 0) as rule,
    any_value(contract_name) as contract_name,
    any_value(slo_name) filter (where place = 0) as slo_name,
    any_value(outcome) filter (where place = 0) as outcome,
    any_value(list_transform(objectives, lambda objective: objective.words)) filter (where place = 0) as objectives,
    any_value(distance) filter (where place = 0) as distance,
    any_value(distance_limit) as distance_limit,
    any_value(cost_per_million_accepted_tokens) filter (where place = 0) as cost_per_million_accepted_tokens,
    any_value(cost_limit) as cost_limit,
    any_value(tpot_s) filter (where place = 0) as tpot_s,
    any_value(predicted_tpot_s) filter (where place = 0) as predicted_tpot_s,
    any_value(slowdown_ratio) filter (where place = 0) as slowdown_ratio,
    coalesce(list(run_id order by place) filter (where status = 'accepted'), []) as accepted_run_ids,
    coalesce(list(run_id order by place) filter (where status = 'rejected'), []) as rejected_run_ids,
    any_value(fingerprint) filter (where place = 0) as fingerprint,
    any_value(measured_on) filter (where place = 0) as measured_on,
    any_value(settings) filter (where place = 0) as settings,
    any_value(origin) filter (where place = 0) as origin
from staging.decisions
group by decision_id
