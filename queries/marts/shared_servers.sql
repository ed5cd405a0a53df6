-- One row per run whose servers' /metrics were looked at: whether it had them to itself. Where they say clearly more in
-- flight than the run had, others were served too, and what decoded together cannot be told from the run's own requests.
-- run_id             the replay
-- looks              instants at which the servers were asked, at the address that was asked most often
-- server_in_flight   running and waiting as the servers say, mean over the looks, all servers together
-- own_in_flight      requests that the run itself had in flight, mean over the time from the first look to the last
-- is_shared          server_in_flight is more than 1.05 * own_in_flight + 0.5
with looks as (
    select
        run_id,
        url,
        at_s,
        sum(value) as in_flight
    from staging.samples
    where origin = 'server'
        and name in ('vllm:num_requests_running', 'vllm:num_requests_waiting')
        -- Before the first request there is nothing to compare.
        and at_s > 0
    group by
        run_id,
        url,
        at_s
),

urls as (
    select
        run_id,
        count(*) as looks,
        avg(in_flight) as in_flight,
        min(at_s) as first_s,
        max(at_s) as last_s
    from looks
    group by
        run_id,
        url
),

servers as (
    select
        run_id,
        max(looks) as looks,
        sum(in_flight) as in_flight,
        min(first_s) as first_s,
        max(last_s) as last_s
    from urls
    group by run_id
    having last_s > first_s
),

own as (
    select
        servers.run_id,
        any_value(servers.looks) as looks,
        any_value(servers.in_flight) as server_in_flight,
        -- Time in flight over all time: Little's law.
        coalesce(
            sum(greatest(
                0,
                least(coalesce(requests.done_s, requests.last_token_s, requests.sent_s), servers.last_s)
                - greatest(requests.sent_s, servers.first_s)
            )) filter (where requests.run_id is not null), 0
        ) / any_value(servers.last_s - servers.first_s) as own_in_flight
    from servers
    left join staging.requests on requests.run_id = servers.run_id and requests.is_sent
    group by servers.run_id
)

select
    run_id,
    looks,
    server_in_flight,
    own_in_flight,
    server_in_flight > 1.05e0 * own_in_flight + 0.5e0 as is_shared
from own
