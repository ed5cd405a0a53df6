-- One row per figure that a diagnosis looks at.
-- group: diagnosis
-- figure   its name
-- unit     's', 'ratio', 'tokens', 'requests', 'per_s', 'byte_per_s', 'flag' (1 is yes), 'C', or the noun that is counted
-- says     what it is, in words
create table seeds.evidence_figures (
    figure varchar primary key,
    unit varchar not null,
    says varchar not null
);
