-- One row per request of marts.tpot_gap, with the prediction that it is compared with. If the run had the server to itself, the prediction is
-- for the batch of the run's own requests; if others used the server and its /metrics cover the request, for the batch that these show.
--
-- The floor is always that of the run's own requests: others can only add bytes, so it remains a bound. The terms of a prediction are in
-- marts.tpot_gap, or in marts.tpot_gap_shared for predictions from the server's metrics.
-- Published per run.
-- group: tpot
-- run_id                  the replay
-- seq                     the request's place in its plan
-- class                   what the trace calls its kind
-- is_shared               the run's servers had others to serve; null where nobody looked at their metrics
-- batch_from              'own events' or 'server metrics': where batch, contexts and prompts are from
-- decode_tokens           tokens after the first: the weight of the row in a mean over tokens
-- tpot_s                  measured mean gap between tokens, seconds
-- floor_tpot_s            predicted: step bytes over peak bandwidth, seconds; null without a known deployment
-- predicted_tpot_s        predicted: the sum of the terms, seconds; null without a known deployment, as are the next three
-- residual_s              tpot_s - predicted_tpot_s, seconds
-- slowdown_ratio          tpot_s / predicted_tpot_s
-- is_in_band              tpot_s lies in the 90 % band of the prediction
-- mean_batch              requests that were in the batch at the same time, mean over the time that it decoded
-- mean_context_tokens     mean context of one of these, tokens
-- prefill_tokens_shared   prompt tokens of others computed while it decoded, tokens
with judged as (
    select
        gaps.run_id,
        gaps.seq,
        gaps.class,
        servers.is_shared,
        shared.seq is not null as is_by_server,
        gaps.decode_tokens,
        gaps.tpot_s,
        gaps.floor_tpot_s,
        coalesce(shared.predicted_tpot_s, gaps.predicted_tpot_s) as predicted_tpot_s,
        coalesce(shared.mean_batch, gaps.mean_batch) as mean_batch,
        coalesce(shared.mean_context_tokens, gaps.mean_context_tokens) as mean_context_tokens,
        coalesce(shared.prefill_tokens_shared, gaps.prefill_tokens_shared) as prefill_tokens_shared
    from marts.tpot_gap as gaps
    left join marts.shared_servers as servers on servers.run_id = gaps.run_id
    left join marts.tpot_gap_shared as shared on shared.run_id = gaps.run_id and shared.seq = gaps.seq
)

select
    judged.run_id,
    judged.seq,
    judged.class,
    judged.is_shared,
    case when judged.is_by_server then 'server metrics' else 'own events' end as batch_from,
    judged.decode_tokens,
    judged.tpot_s,
    judged.floor_tpot_s,
    judged.predicted_tpot_s,
    judged.tpot_s - judged.predicted_tpot_s as residual_s,
    judged.tpot_s / judged.predicted_tpot_s as slowdown_ratio,
    macros.is_in_band(judged.tpot_s, judged.predicted_tpot_s, deployments.band_ratio) as is_in_band,
    judged.mean_batch,
    judged.mean_context_tokens,
    judged.prefill_tokens_shared
from judged
left join staging.deployments on deployments.run_id = judged.run_id
