-- One row per word that a reader of pages and tables must know: what is measured, and the knobs of an engine. "tidemark schema --search", the
-- words of a report and docs/glossary.md are these rows.
-- group: server
-- seq       order in which they are read
-- word      as it is written on pages; a knob as vLLM's flag without its hyphens
-- kind      'figure', or 'knob' of an engine
-- held_in   the column that has it, and for a knob that a deployment has the flag of Tidemark
-- meaning   in one or two sentences
create table seeds.glossary (
    seq integer not null,
    word varchar primary key,
    kind varchar not null,
    held_in varchar not null,
    meaning varchar not null
);
