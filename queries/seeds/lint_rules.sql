-- One row per case that "tidemark lint" looks for: an experiment whose figures mean less than they seem to. When a case fires is said in the
-- marts.lint_* that has it, in marts.symptoms for a symptom, and in marts.audit for what is odd about a trace.
-- group: trust
-- seq          order in which they are read
-- rule         its name
-- applies_to   what it is looked for in, between semicolons: 'run', 'result' of another tool, 'source' (a trace), 'plan' before it is sent, 'series', 'comparison' of two runs
-- wrong        what is wrong with it
-- remedy       what to do
-- source       the list of mistakes that it is from
create table seeds.lint_rules (
    seq integer not null,
    rule varchar primary key,
    applies_to varchar not null,
    wrong varchar not null,
    remedy varchar not null,
    source varchar not null
);
