-- How full was the KV cache, and did requests wait for room?
--
-- One row per run, server and ten seconds. Requests that wait (max_waiting) while the cache is full (max_kv_ratio near 1) need more memory or
-- shorter contexts; while it is not full, more sequences (max_num_seqs). Preemptions are requests that were thrown out for lack of room.
-- group: server
select
    run_id,
    second // 10 * 10 as from_second,
    max(kv_usage_ratio) as max_kv_ratio,
    max(queue_depth) as max_waiting,
    avg(kv_usage_ratio) as mean_kv_ratio,
    avg(running) as mean_running,
    sum(preemptions) as preemptions,
    url
from marts.server_seconds
where kv_usage_ratio is not null
group by
    run_id,
    url,
    from_second
order by
    run_id,
    url,
    from_second
