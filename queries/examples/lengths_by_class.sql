-- How long are prompts and answers, by kind of request?
--
-- One row per trace and class. A class of which few requests come, but whose prompts are long, can hold most of the prompt tokens:
-- compare its token share with its request share.
-- group: traces
select
    source_name,
    class,
    count(*) as requests,
    count(*) / sum(count(*)) over (partition by source_name) as requests_ratio,
    sum(input_tokens) / sum(sum(input_tokens)) over (partition by source_name) as input_tokens_ratio,
    quantile_cont(input_tokens, 0.5) as p50_input_tokens,
    quantile_cont(input_tokens, 0.99) as p99_input_tokens,
    quantile_cont(output_tokens, 0.5) as p50_output_tokens,
    quantile_cont(output_tokens, 0.99) as p99_output_tokens
from staging.arrivals
group by
    source_name,
    class
order by
    source_name,
    requests desc
