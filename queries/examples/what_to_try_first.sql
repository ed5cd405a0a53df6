-- What is wrong with a run, and what should be tried first?
--
-- One row per run and symptom. is_confirmed is null where the figures that would confirm it were not measured: confirm_with says which
-- they are.
-- group: diagnosis
select
    subject,
    title,
    kind,
    is_confirmed,
    evidence,
    confirm_with,
    first_response
from marts.symptoms
where subject_kind = 'run'
order by
    subject,
    seq
