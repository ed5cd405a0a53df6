-- One row per run: how its requests were shared out over replicas, as far as anybody says, and what was done. Warm-up is left out.
--
-- Which replica answered is known of each request where the run had several addresses, or where a router says it in a header (replay --replica-header).
-- Else the metrics of the replicas (replay --metrics-url of each; ranks of one address count as replicas) say how many requests each finished, which
-- includes those of others. Where neither does, known_by is null: nobody says.
--
-- A turn is misrouted if an earlier turn of its session was answered by another replica before the turn was sent, and none by its own: the history that
-- it repeats lies in the cache of another. Prefixes that sessions share are not in this; cached_ratio beside shareable_ratio shows what was missed of all.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- known_by             'requests' or 'metrics'; null: the servers do not say
-- replicas             that had a request; null where nobody says, as in the next three
-- least_requests       of the replica that had fewest
-- most_requests        of the one that had most
-- request_cv           standard deviation over the replicas of their requests, over the mean: 0 is even; null for one replica
-- later_turns          turns whose session had an answer of a known replica before they were sent, and whose own replica is known
-- misrouted_turns      of these, whose replica had answered no earlier turn
-- misrouted_ratio      their share; null without such turns
-- cached_ratio         share of prompt tokens that the servers say they had; null where they do not say
-- shareable_ratio      share of prompt tokens that an earlier request of the plan had, where those without prefix blocks share none; null: none has any
-- completed            requests that succeeded
-- asked_tokens         prompts and answers of these as planned, tokens
-- got_tokens           the same as the servers report them, tokens; null where they do not report all
with answered as (
    select
        requests.*,
        coalesce(requests.done_s, requests.last_token_s, requests.sent_s) as until_s
    from staging.requests
    where not requests.is_warm_up
        and requests.is_sent
),

by_request as (
    select
        run_id,
        endpoint,
        count(*) as requests
    from answered
    where endpoint is not null
    group by
        run_id,
        endpoint
),

-- What each counter grew by; one that shows up during the run began at zero.
grown as (
    select
        run_id,
        url || ' ' || regexp_extract(labels, 'engine="([^"]*)"', 1) as endpoint,
        max(value) - case when min(at_s) <= 0 then min(value) else 0 end as requests
    from staging.server_samples
    where quantity = 'finished_requests'
        and part = 'value'
    group by
        run_id,
        url,
        labels
),

by_metrics as (
    select
        run_id,
        endpoint,
        sum(requests)::bigint as requests
    from grown
    where run_id not in (select by_request.run_id from by_request)
    group by
        run_id,
        endpoint
),

shared_out as (
    select
        run_id,
        any_value(known_by) as known_by,
        count(*) as replicas,
        min(requests) as least_requests,
        max(requests) as most_requests,
        case when count(*) > 1 then stddev_pop(requests) / avg(requests) end as request_cv
    from (
        select
            *,
            'requests' as known_by
        from by_request
        union all
        select
            *,
            'metrics' as known_by
        from by_metrics
        where run_id in (select each.run_id from by_metrics as each group by each.run_id having count(*) > 1)
    ) as each
    group by run_id
),

turns as (
    select
        later.run_id,
        later.seq,
        not bool_or(earlier.endpoint = later.endpoint) as is_misrouted
    from answered as later
    inner join answered as earlier
        on earlier.run_id = later.run_id
        and earlier.session_id = later.session_id
        and earlier.turn < later.turn
        and earlier.until_s <= later.sent_s
    where earlier.endpoint is not null
        and later.endpoint is not null
        and earlier.is_success
    group by
        later.run_id,
        later.seq
),

routed as (
    select
        run_id,
        count(*) as later_turns,
        count(*) filter (where is_misrouted) as misrouted_turns
    from turns
    group by run_id
),

worked as (
    select
        run_id,
        sum(cached_tokens) / nullif(sum(coalesce(input_tokens_reported, input_tokens)) filter (where cached_tokens is not null), 0) as cached_ratio,
        sum(shared_tokens) / sum(input_tokens) as shareable_ratio,
        count(*) filter (where is_success) as completed,
        sum(input_tokens + output_tokens) filter (where is_success)::bigint as asked_tokens,
        case
            when bool_and(input_tokens_reported is not null and received_tokens is not null) filter (where is_success)
                then sum(input_tokens_reported + received_tokens) filter (where is_success)::bigint
        end as got_tokens
    from answered
    group by run_id
)

select
    worked.run_id,
    shared_out.known_by,
    shared_out.replicas,
    shared_out.least_requests,
    shared_out.most_requests,
    shared_out.request_cv,
    routed.later_turns,
    routed.misrouted_turns,
    routed.misrouted_turns / routed.later_turns as misrouted_ratio,
    worked.cached_ratio,
    worked.shareable_ratio,
    worked.completed,
    worked.asked_tokens,
    worked.got_tokens
from worked
left join shared_out on shared_out.run_id = worked.run_id
left join routed on routed.run_id = worked.run_id
