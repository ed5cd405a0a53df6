-- How far is the prediction from what was measured?
--
-- One row per run. slowdown_ratio is measured over predicted time per token; in_band_ratio is the share of requests within the 90 %
-- band of the prediction, so about 0.9 is as good as the model claims to be.
-- group: tpot
select
    gaps.run_id,
    gaps.slowdown_ratio,
    gaps.in_band_ratio,
    gaps.tpot_s,
    gaps.predicted_tpot_s,
    gaps.floor_ratio,
    gaps.requests,
    deployments.gpu,
    deployments.model,
    deployments.weight_format
from marts.tpot_gap_runs as gaps
inner join staging.deployments using (run_id)
order by gaps.slowdown_ratio desc
