-- One row per file of a server's metrics: what its engines did over all of its looks, and of the dump before it, of the
-- same process. An engine counts the client's warm-up as well: what ended while it had no more than one request is
-- said apart.
-- source_name             the file; of two dumps, the later
-- looks                   how many looks this is over
-- finished_requests       ended, however
-- alone_requests          of these, ended before the first look with more than one request in it: warm-up, most likely;
--                         null where requests in flight are not said
-- prompt_tokens           computed; older engines count a prompt again after preemption
-- generation_tokens       made; older engines leave out each request's first
-- preemptions             requests put off for want of KV cache
-- prefix_queried_tokens   looked up in the prefix cache; again after preemption
-- prefix_hit_tokens       found there
with totals as (
    select
        source_name,
        sum(increase) filter (where quantity = 'finished_requests') as finished_requests,
        sum(increase) filter (where quantity = 'prompt_tokens') as prompt_tokens,
        sum(increase) filter (where quantity = 'generation_tokens') as generation_tokens,
        sum(increase) filter (where quantity = 'preemptions') as preemptions,
        sum(increase) filter (where quantity = 'prefix_queried_tokens') as prefix_queried_tokens,
        sum(increase) filter (where quantity = 'prefix_hit_tokens') as prefix_hit_tokens,
        count(distinct concat_ws(' ', history, place)) as looks
    from staging.metric_intervals
    where part = 'value' and quantity is not null and gpu is null and not is_first
    group by all
),

busy as (
    select
        source_name,
        min(look) as look
    from marts.engine_timeline
    where coalesce(running_requests, 0) + coalesce(waiting_requests, 0) > 1
    group by all
),

alone as (
    select
        engine_timeline.source_name,
        coalesce(sum(engine_timeline.finished_requests) filter (where engine_timeline.look < busy.look or busy.look is null), 0) as requests
    from marts.engine_timeline
    left join busy on busy.source_name = engine_timeline.source_name
    where engine_timeline.running_requests is not null
    group by all
)

select
    totals.source_name,
    totals.looks,
    totals.finished_requests,
    alone.requests as alone_requests,
    totals.prompt_tokens,
    totals.generation_tokens,
    totals.preemptions,
    totals.prefix_queried_tokens,
    totals.prefix_hit_tokens
from totals
left join alone on alone.source_name = totals.source_name
