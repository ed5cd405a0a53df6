-- One row per condition of a symptom: figure comparison bound, or bound times another figure. A figure that was not measured
-- holds no condition. A symptom fires when of one of its alternatives all that it needs hold and none of its 'unless' does.
-- group: diagnosis
-- symptom        name in seeds.symptoms
-- alternative    conditions of one number hold together; 0 for those that are of all alternatives
-- seq            order in which evidence is told
-- role           'needs', 'unless', or 'confirms': it does not fire it, but makes sure
-- figure         name in seeds.evidence_figures
-- comparison     '>', '>=', '<' or '<='
-- bound          in the figure's unit, or a factor
-- times_figure   another figure; null: the bound is a number alone
create table seeds.symptom_conditions (
    symptom varchar not null,
    alternative integer not null,
    seq integer not null,
    role varchar not null,
    figure varchar not null,
    comparison varchar not null,
    bound double not null,
    times_figure varchar
);
