-- One row per decision and run that it rejected: why, and whether that still stands.
--
-- A rejection stands until a run of the same configuration is accepted, by the same decision (at another load) or by a later one.
-- group: money
-- fingerprint       of the configuration, as macros.configuration_fingerprint; null of a draft
-- run_id            the run that was rejected
-- measured_on       what it ran on
-- settings          beside that: parallelism, formats, limits
-- origin            'measured', 'simulated' or 'rehearsed'
-- status            'rejected'
-- why               the rule at which its path stopped, or why another was chosen
-- reason            of the decision, as the user wrote it
-- decision_id       the decision
-- decided_at        when
-- decided_by        who
-- contract_name     null: decided without one
-- instead_run_ids   runs that the decision accepted
-- is_standing       no run of the configuration was accepted by that decision or since
select
    rejected.fingerprint,
    rejected.run_id,
    rejected.measured_on,
    rejected.settings,
    rejected.origin,
    rejected.status,
    rejected.why,
    rejected.reason,
    rejected.decision_id,
    rejected.decided_at,
    rejected.decided_by,
    rejected.contract_name,
    coalesce(list(accepted.run_id order by accepted.place) filter (where accepted.decision_id = rejected.decision_id), []) as instead_run_ids,
    coalesce(bool_and(accepted.fingerprint is null or accepted.fingerprint is distinct from rejected.fingerprint), true) as is_standing
from staging.decisions as rejected
left join staging.decisions as accepted
    on accepted.status = 'accepted'
    and (accepted.decision_id = rejected.decision_id or accepted.decided_at >= rejected.decided_at)
where rejected.status = 'rejected'
group by all
