-- Of which parts is the time per token?
--
-- One row per run and term: the parts of the prediction, and the rest that it does not explain. share_ratio is of the measured time, so
-- the terms of a run add up to 1. Weights and kv are the memory; a large host or layers term is not helped by a faster memory.
-- group: tpot
select
    run_id,
    term,
    mean_s,
    share_ratio
from marts.tpot_terms
order by
    run_id,
    term_seq
