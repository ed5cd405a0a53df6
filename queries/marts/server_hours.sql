-- One row per source, server and hour of its metrics: the load that it carried and its mean time per token, in the words of
-- "tidemark predict --points" and "tidemark calibrate --points":
--
--   tidemark sql --csv "from marts.server_hours where source_name = 'chat' and preemptions = 0" > hours.csv
--   tidemark calibrate --points hours.csv --gpu H100 --catalog-model llama-3.1-8b
--
-- What is counted across a gap of more than an hour belongs to no hour. Metrics that are summed over replicas are the load of all of them:
-- divide the concurrency by their number.
-- group: server
-- source_name      the file
-- target           which server; '' where the file does not say
-- hour             number of the hour since the file's own zero; null without times: all of the file
-- concurrency      requests that ran, mean over the looks and sum over the engines of the server
-- requests         ended, however
-- input_len_mean   tokens of a prompt, those of the prefix cache too
-- cached_len_mean  of these, what the prefix cache had
-- output_len_mean  tokens of an answer
-- mean_tpot_s      mean over the requests, seconds
-- preemptions      in the hour; 0 too where the server does not count them
with counted as (
    select
        source_name,
        target,
        floor(until_s / 3600) as hour,
        quantity,
        part,
        increase
    from staging.metric_intervals
    where quantity in ('prompt_tokens', 'generation_tokens', 'finished_requests', 'prefix_hit_tokens', 'preemptions', 'tpot_s')
        and part <> 'bucket'
        and not is_first
        and coalesce(until_s - from_s, 0) <= 3600
    qualify priority = min(priority) over (partition by source_name, target, quantity)
),

sums as (
    select
        source_name,
        target,
        hour,
        sum(increase) filter (where quantity = 'finished_requests') as requests,
        sum(increase) filter (where quantity = 'prompt_tokens') as prompt_tokens,
        sum(increase) filter (where quantity = 'prefix_hit_tokens') as cached_tokens,
        sum(increase) filter (where quantity = 'generation_tokens') as output_tokens,
        sum(increase) filter (where quantity = 'preemptions') as preemptions,
        sum(increase) filter (where quantity = 'tpot_s' and part = 'sum') as tpot_s,
        sum(increase) filter (where quantity = 'tpot_s' and part = 'count') as answers
    from counted
    group by all
),

running as (
    select
        source_name,
        target,
        floor(at_s / 3600) as hour,
        avg(running_requests) as concurrency
    from marts.engine_timeline
    group by all
)

select
    sums.source_name,
    sums.target,
    sums.hour::bigint as hour,
    running.concurrency,
    sums.requests,
    sums.prompt_tokens / sums.requests as input_len_mean,
    least(coalesce(sums.cached_tokens, 0), sums.prompt_tokens) / sums.requests as cached_len_mean,
    sums.output_tokens / sums.requests as output_len_mean,
    sums.tpot_s / sums.answers as mean_tpot_s,
    coalesce(sums.preemptions, 0) as preemptions
from sums
inner join running
    on running.source_name = sums.source_name
    and running.target = sums.target
    and running.hour is not distinct from sums.hour
where sums.requests > 0
    and sums.answers > 0
