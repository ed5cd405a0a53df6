-- How does the time to first token grow with the length of the prompt?
--
-- One row per run and power of two of prompt tokens, over successful requests. The p99 is null below 100 requests: it would be the
-- slowest request and nothing more.
-- group: runs
select
    run_id,
    pow(2, floor(log2(input_tokens)))::bigint as from_input_tokens,
    count(*) as requests,
    quantile_cont(ttft_s, 0.5) as p50_ttft_s,
    case when count(*) >= 100 then quantile_cont(ttft_s, 0.99) end as p99_ttft_s,
    max(ttft_s) as max_ttft_s
from staging.requests
where is_success
    and not is_warm_up
    and input_tokens > 0
group by
    run_id,
    from_input_tokens
order by
    run_id,
    from_input_tokens
