-- One row per subject of a diagnosis and symptom that it shows: which figures it follows from, what would confirm it, what to try first, and
-- what stays unknown. A subject without a row shows no symptom. Say of which kind it is: else it waits for every file of metrics.
-- group: diagnosis
-- subject          the run's id, a file of metrics, or file#point of another tool's measurement
-- subject_kind     'run', 'point' or 'metrics'
-- seq              order in which they are read
-- symptom          its name
-- rule             of the table of rules that it is from
-- kind             'invalid': the numbers do not mean what they seem to; 'problem': something to repair; 'by design': the hardware does what it can
-- title            in a few words
-- evidence         the figures that it fired on, with what they were compared with
-- is_confirmed     the confirming figures agree; false: at least one does not; null: not all were measured, or there are none
-- confirmation     the same in words
-- meaning          what it says about the server
-- confirm_with     what would confirm it
-- first_response   what to try first
-- unknown          what stays unknown
select
    subject,
    subject_kind,
    unnest(symptoms, recursive := true)
from marts.diagnoses
