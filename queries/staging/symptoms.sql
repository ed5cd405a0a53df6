-- One row per symptom that a run can show.
-- group: diagnosis
-- seq              order in which they are read: what makes the numbers worthless first
-- symptom          its name
-- rule             of the table of rules that it is from
-- kind             'invalid', 'problem' or 'by design'
-- title            in a few words
-- meaning          what it says about the server
-- confirm_with     what would confirm it
-- first_response   what to try first
-- unknown          what stays unknown even then; null for nothing
-- unless           symptoms that explain it: when one of them fires this one does not
select
    seq,
    symptom,
    rule,
    kind,
    title,
    meaning,
    confirm_with,
    first_response,
    unknown,
    case when unless is null then [] else string_split(unless, ';') end as unless
from seeds.symptoms
