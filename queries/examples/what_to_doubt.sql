-- Which lines of a run's certificate are not in order?
--
-- One row per line that breaks its limit (the run is invalid) or that a reader must know (a note). No rows: nothing is known against
-- the runs.
-- group: trust
select
    run_id,
    subject,
    outcome,
    measured,
    bound,
    meaning
from marts.certificate
where outcome <> 'ok'
order by
    outcome,
    run_id,
    seq
