-- One row per condition of a symptom, with the words of its figures.
-- group: diagnosis
-- symptom        name in staging.symptoms
-- alternative    conditions of one number hold together; 0: of all alternatives
-- seq            order in which evidence is told
-- role           'needs', 'unless' or 'confirms'
-- figure         what is looked at
-- unit           of it
-- says           the same in words
-- comparison     '>', '>=', '<' or '<='
-- bound          in that unit, or a factor
-- times_figure   that the bound is a factor of; null: it is a number alone
-- times_says     the same in words
select
    conditions.symptom,
    conditions.alternative,
    conditions.seq,
    conditions.role,
    conditions.figure,
    figures.unit,
    figures.says,
    conditions.comparison,
    conditions.bound,
    conditions.times_figure,
    times.says as times_says
from seeds.symptom_conditions as conditions
left join seeds.evidence_figures as figures on figures.figure = conditions.figure
left join seeds.evidence_figures as times on times.figure = conditions.times_figure
