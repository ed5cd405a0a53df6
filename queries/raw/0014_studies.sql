-- Migration 14: what came of a study.

-- One row per study, as it was finished last.
create table raw.studies (
    study varchar primary key,          -- as its file calls it
    source_ids bigint[] not null,       -- of its traffic, and of the results of other tools in it
    document json not null              -- objectives, steps with their verdicts, configurations with their repeats
);
comment on table raw.studies is 'One row per study, as it was finished last.';
