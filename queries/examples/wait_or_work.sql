-- Is a slow first token a queue or a long prompt?
--
-- Means over requests. place_wait_s and prompt_wait_s are waiting (for a place in the batch, for the prompts before it), prompt_s and
-- steps_s are work. A large residual_s with small waits is the network, the HTTP server, or a queue that the client does not see.
-- group: tpot
select
    run_id,
    class,
    count(*) as requests,
    avg(ttft_s) as mean_ttft_s,
    avg(place_wait_s) as mean_place_wait_s,
    avg(prompt_wait_s) as mean_prompt_wait_s,
    avg(prompt_s) as mean_prompt_s,
    avg(steps_s) as mean_steps_s,
    avg(residual_s) as mean_residual_s
from marts.ttft_gap
group by
    run_id,
    class
order by
    run_id,
    requests desc
