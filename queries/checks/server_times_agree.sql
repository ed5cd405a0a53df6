-- If the server reports its own times of each request, its median time per token agrees with ours to 5 %, and its queue and TTFT together are
-- at most 5 % longer than our TTFT. One row per run and time that does not agree: the client reads late, a proxy buffers, or the two clocks
-- measure different things.
-- group: trust
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
        -- Network and HTTP, which the server does not see, make our TTFT longer: that is not an error.
        unnest([server_tpot_ratio, greatest(server_ttft_ratio, 0)]) as server_ratio
    from marts.fidelity
) as each
where abs(each.server_ratio) > 5e-2
