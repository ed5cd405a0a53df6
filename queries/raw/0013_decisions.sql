-- Migration 13: what was decided on runs, and why.

-- One row per decision and run. Rows are added and never changed: who decides otherwise later adds another decision.
create table raw.decisions (
    decision_id varchar not null,       -- of all rows that were decided at once
    run_id varchar not null,
    place integer not null,             -- 0: the run that was decided on; then the others in the order that they were named in
    status varchar not null,            -- 'accepted' or 'rejected'
    document json not null,             -- the record of this run: contract, figures, path, who, when and why
    primary key (decision_id, run_id)
);
comment on table raw.decisions is 'One row per decision and run. Rows are added and never changed.';
