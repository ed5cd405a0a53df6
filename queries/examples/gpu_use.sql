-- How much of the GPU did a run use?
--
-- mbu_ratio is the share of the memory's peak bandwidth that decoding reached, mfu_ratio the share of the peak arithmetic. Decoding
-- that is well tuned has a high mbu_ratio and a low mfu_ratio; with both low the time goes elsewhere (example where_a_token_goes).
-- group: server
select
    use.run_id,
    use.mbu_ratio,
    use.mfu_ratio,
    use.predicted_mbu_ratio,
    use.window_s,
    deployments.gpu,
    deployments.model,
    deployments.weight_format
from marts.utilization_runs as use
inner join staging.deployments using (run_id)
order by
    use.mbu_ratio desc nulls last,
    use.run_id
