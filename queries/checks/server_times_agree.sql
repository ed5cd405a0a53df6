-- Where the server tells its own times of each request, the median time per token agrees with ours
-- to 5 %, and its queue and TTFT together are no longer than our TTFT by more than that. One row per run
-- and time that does not: a client that reads late, a proxy that buffers, or clocks of different things.
-- run_id         the replay
-- metric         'tpot' or 'ttft'
-- requests       successful requests of which the server told its times
-- server_ratio   median of the server's time over ours, less 1
select
    each.run_id,
    each.metric,
    each.requests,
    each.server_ratio
from (
    select
        run_id,
        server_timed as requests,
        unnest(['tpot', 'ttft']) as metric,
        -- What the server does not see of a request, network and HTTP, makes ours longer: that is no fault.
        unnest([server_tpot_ratio, greatest(server_ttft_ratio, 0)]) as server_ratio
    from marts.fidelity
) as each
where abs(each.server_ratio) > 5e-2
