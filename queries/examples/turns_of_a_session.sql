-- Do later turns of a session wait longer for their first token?
--
-- One row per run and turn. Prompts grow from turn to turn; where the server keeps a prefix cache, mean_cached_tokens grows with them
-- and the time to first token stays.
-- group: runs
select
    run_id,
    turn,
    requests,
    completed,
    mean_input_tokens,
    mean_cached_tokens,
    p50_ttft_from_due_s,
    mean_ttft_from_due_s
from marts.turns
order by
    run_id,
    turn
