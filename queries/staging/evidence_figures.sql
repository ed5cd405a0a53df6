-- One row per figure that a diagnosis looks at.
-- group: diagnosis
-- figure   its name
-- unit     's', 'ratio', 'tokens', 'requests', 'per_s', 'byte_per_s', 'flag' (1 is yes), 'C', or the noun that is counted
-- says     what it is, in words
select
    figure,
    unit,
    says
from seeds.evidence_figures
