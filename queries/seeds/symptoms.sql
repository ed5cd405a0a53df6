-- One row per symptom that a run can show. When it fires is said in seeds.symptom_conditions.
-- group: diagnosis
-- seq              order in which they are read: what makes the numbers worthless first
-- symptom          its name
-- rule             of the table of rules: V what makes the measurement invalid, S saturation, P prefill, D decoding, I interference, C cache,
--                  X speculation, Z the rest; else the row of the field's methods
-- kind             'invalid': the numbers are not of what they seem; 'problem': something to repair; 'by design': the hardware does what it can
-- title            in a few words
-- meaning          what it says about the server
-- confirm_with     what would confirm it
-- first_response   what to try first
-- unknown          what stays unknown even then; null for nothing
-- unless           symptoms that explain it, between semicolons: when one of them fires this one does not; null for none
create table seeds.symptoms (
    seq integer not null,
    symptom varchar primary key,
    rule varchar not null,
    kind varchar not null,
    title varchar not null,
    meaning varchar not null,
    confirm_with varchar not null,
    first_response varchar not null,
    unknown varchar,
    unless varchar
);
