-- One row per file of a server's metrics: what its engines did over all looks of the file, and since the earlier dump of the same process.
-- An engine counts the client's warm-up too, so requests that ended while it had no more than one are counted separately.
-- group: server
-- source_name             the file; of two dumps, the later
-- looks                   how many looks this is over
-- finished_requests       ended, however
-- alone_requests          of these, ended before the first look that shows more than one request, or as the only one between that look and
--                         a look that shows one: most likely warm-up; null where the file does not show requests in flight
-- prompt_tokens           computed; older engines count a prompt again after preemption
-- generation_tokens       made; older engines leave out each request's first
-- preemptions             requests that lost their place because the KV cache was full
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

crowds as (
    select
        source_name,
        look,
        running_requests,
        finished_requests,
        coalesce(running_requests, 0) + coalesce(waiting_requests, 0) as in_flight,
        lag(in_flight) over (partition by source_name order by look) as in_flight_before
    from marts.engine_timeline
),

busy as (
    select
        source_name,
        min(look) as look
    from crowds
    where in_flight > 1
    group by all
),

alone as (
    select
        crowds.source_name,
        coalesce(sum(crowds.finished_requests) filter (
            where crowds.look < busy.look
                or busy.look is null
                or crowds.look = busy.look and crowds.in_flight_before = 1 and crowds.finished_requests = 1
        ), 0) as requests
    from crowds
    left join busy on busy.source_name = crowds.source_name
    where crowds.running_requests is not null
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
