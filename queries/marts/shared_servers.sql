-- One row per run whose servers' /metrics were looked at: whether the run had the servers to itself. If they report clearly more requests in
-- flight than the run had, others used them too, and the run's own requests do not tell which requests decoded together.
--
-- Both numbers are compared at the instants of the looks, so that a few looks at an uneven load, as in an interrupted run, accuse nobody. A
-- request that the client gave up (cancelled, or out of time) counts as the run's own for 2.5 s more, because the server runs it until it
-- notices. A server that goes away during the run counts for the time in which it was looked at.
-- Kept per run.
-- group: server
-- run_id             the replay
-- looks              instants at which the servers were asked, at the address that was asked most often
-- server_in_flight   running and waiting as the servers say, mean over the looks, all servers together
-- own_in_flight      requests that the run itself had in flight, mean over the same looks
-- is_shared          server_in_flight is more than 1.05 * own_in_flight + 0.5
with looks as (
    select
        run_id,
        url,
        at_s,
        sum(value) as in_server
    from staging.server_samples
    where quantity in ('running_requests', 'waiting_requests')
        -- Before the first request there is nothing to compare.
        and at_s > 0
    group by
        run_id,
        url,
        at_s
),

own as (
    select
        run_id,
        at_s,
        sum(sum(change)) over (partition by run_id order by at_s) as in_flight
    from (
        select
            run_id,
            unnest([
                sent_s,
                coalesce(done_s, last_token_s, sent_s)
                + case when failure = 'cancelled' or starts_with(failure, 'timeout') then 2.5e0 else 0 end
            ]) as at_s,
            unnest([1, -1]) as change
        from staging.requests
        where is_sent
    ) as changes
    group by
        run_id,
        at_s
),

urls as (
    select
        looks.run_id,
        looks.url,
        count(*) as looks,
        avg(looks.in_server) as in_server,
        avg(coalesce(own.in_flight, 0)) as own_in_flight,
        coalesce((max(looks.at_s) - min(looks.at_s)) * count(*) / nullif(count(*) - 1, 0), 0) as covered_s
    from looks
    asof left join own
        on own.run_id = looks.run_id
        and own.at_s <= looks.at_s
    group by
        looks.run_id,
        looks.url
),

servers as (
    select
        run_id,
        max(looks) as looks,
        sum(in_server * coalesce(covered_s / nullif(longest_s, 0), 1)) as server_in_flight,
        avg(own_in_flight) filter (where covered_s = longest_s)::double as own_in_flight
    from (
        select
            urls.*,
            max(covered_s) over (partition by run_id) as longest_s
        from urls
    ) as each
    group by run_id
)

select
    run_id,
    looks,
    server_in_flight,
    own_in_flight,
    server_in_flight > 1.05e0 * own_in_flight + 0.5e0 as is_shared
from servers
