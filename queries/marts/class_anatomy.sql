-- One row per run and class of its requests, and one of all of a run together: where their time went, what they cost, and behind whom they
-- waited (marts.request_anatomy has each request). Warm-up is left out. Means and sums are over successful requests.
--
-- The means add up as the parts of a request do: mean_ttft_s + mean_decode_s + mean_stall_s = mean_e2e_s, and where the server says when it began with
-- all of them mean_queue_s + mean_prefill_s + mean_outside_s = mean_ttft_s.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- is_all               all of the run's requests together
-- class                what the trace calls their kind; null where it has none, and for all
-- tried                requests that were sent or failed, and those not sent because no server was left
-- completed            of these, successful
-- accepted             of these, within every objective of their class too; null without an SLO
-- accepted_ratio       accepted / tried
-- goodput_per_s        accepted requests per second of the run's window
-- mean_wait_s          from due to sent, seconds
-- mean_ttft_s          from sent to the first token, seconds
-- mean_queue_s, mean_prefill_s, mean_outside_s   of it, as the server says; null where it does not of all of them
-- mean_decode_s        from the first token to the last, without stalls, seconds
-- mean_stall_s         in gaps of more than twice the run's median gap, what is over that median, seconds
-- mean_e2e_s           from sent to the last token, seconds
-- stalled_ratio        share of them with such a gap
-- input_tokens         their prompts, tokens
-- cached_tokens        of these, that the server says it had; null where it does not of all of them
-- repeated_tokens      of these, that an earlier request had brought and the server computed again; likewise
-- recomputed_tokens    computed again after preemptions; known of a rehearsal only
-- received_tokens      their answers, tokens
-- behind_ratio         share of them that waited while the server computed another's prompt
-- behind_class         the class behind whose prompts most of these waited; null where there are none, or it has no name
-- behind_class_ratio   share of those that waited which waited behind that class
-- gpu_s                GPU-seconds; null where they are not known of all of them
-- gpu_ratio            of those of the run
-- gpu_by               how they are known: 'steps' of a rehearsal, or predicted 'work'
with requests as (
    select
        each.*,
        runs.window_s
    from marts.request_anatomy as each
    inner join marts.runs on runs.run_id = each.run_id
),

holders as (
    select
        run_id,
        grouping(class) = 1 as is_all,
        class,
        behind_class,
        count(*) as requests
    from requests
    where behind_seq is not null
    group by grouping sets ((run_id, behind_class), (run_id, class, behind_class))
),

most as (
    select
        run_id,
        is_all,
        class,
        sum(requests) as requests,
        max_by({'class': behind_class, 'requests': requests}, requests) as holder
    from holders
    group by
        run_id,
        is_all,
        class
),

-- A sum of which a part is not known is not known.
sums as (
    select
        run_id,
        grouping(class) = 1 as is_all,
        class,
        count(*) as tried,
        count(*) filter (where is_success) as completed,
        case when count(is_accepted) = count(*) then count(*) filter (where is_accepted) end as accepted,
        any_value(window_s) as window_s,
        avg(wait_s) filter (where is_success) as wait_s,
        avg(ttft_s) as ttft_s,
        case when count(queue_s) = completed then [avg(queue_s), avg(prefill_s), avg(outside_s)] end as parts_s,
        avg(decode_s) as decode_s,
        avg(stall_s) as stall_s,
        avg(e2e_s) as e2e_s,
        count(*) filter (where stalls > 0) as stalled,
        sum(input_tokens) as input_tokens,
        case when count(cached_tokens) = completed then sum(cached_tokens) end as cached_tokens,
        case when count(repeated_tokens) = completed then sum(repeated_tokens) end as repeated_tokens,
        case when count(recomputed_tokens) = completed then sum(recomputed_tokens) end as recomputed_tokens,
        case when count(received_tokens) = completed then sum(received_tokens) end as received_tokens,
        case when count(gpu_s) = completed then sum(gpu_s) end as gpu_s,
        any_value(gpu_by) as gpu_by
    from requests
    group by grouping sets ((run_id), (run_id, class))
)

select
    sums.run_id,
    sums.is_all,
    sums.class,
    sums.tried,
    sums.completed,
    sums.accepted,
    sums.accepted / sums.tried as accepted_ratio,
    sums.accepted / nullif(sums.window_s, 0) as goodput_per_s,
    sums.wait_s as mean_wait_s,
    sums.ttft_s as mean_ttft_s,
    sums.parts_s[1] as mean_queue_s,
    sums.parts_s[2] as mean_prefill_s,
    sums.parts_s[3] as mean_outside_s,
    sums.decode_s as mean_decode_s,
    sums.stall_s as mean_stall_s,
    sums.e2e_s as mean_e2e_s,
    sums.stalled / nullif(sums.completed, 0) as stalled_ratio,
    sums.input_tokens::bigint as input_tokens,
    sums.cached_tokens::bigint as cached_tokens,
    sums.repeated_tokens::bigint as repeated_tokens,
    sums.recomputed_tokens::bigint as recomputed_tokens,
    sums.received_tokens::bigint as received_tokens,
    coalesce(most.requests, 0) / nullif(sums.completed, 0) as behind_ratio,
    most.holder.class as behind_class,
    most.holder.requests / most.requests as behind_class_ratio,
    sums.gpu_s,
    sums.gpu_s / nullif(sum(sums.gpu_s) filter (where sums.is_all) over (partition by sums.run_id), 0) as gpu_ratio,
    case when sums.gpu_s is not null then sums.gpu_by end as gpu_by
from sums
left join most
    on most.run_id = sums.run_id
    and most.is_all = sums.is_all
    and most.class is not distinct from sums.class
