-- Does the same deployment become slower from week to week?
--
-- One row per deployment and ISO week (its Monday, UTC), over valid runs that were sent to a real server; the medians are over runs.
-- slowdown_ratio is measured over predicted time per token, so it does not move when the traffic changes, and moves when the server
-- does.
-- group: runs
select
    gpu,
    catalog_model,
    tensor_parallel_size,
    engine,
    date_trunc('week', started_at at time zone 'UTC')::date as week,
    count(*) as runs,
    string_agg(distinct engine_version, ', ' order by engine_version) as engine_versions,
    median(p50_ttft_s) as median_p50_ttft_s,
    median(p50_tpot_s) as median_p50_tpot_s,
    median(slowdown_ratio) as median_slowdown_ratio
from marts.runs
where is_valid
    and not is_simulated
    and not is_draft
group by
    gpu,
    catalog_model,
    tensor_parallel_size,
    engine,
    week
order by
    gpu,
    catalog_model,
    tensor_parallel_size,
    engine,
    week
