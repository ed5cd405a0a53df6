-- One row per run and server that requests went to: how even the load was. Warm-up is left out. Where a router names its replicas
-- (replay --replica-header) these are the servers; a request without such a name stands under the address of the router, which counts for neither cv.
--
-- A run with one server has one row. Requests that were never sent went nowhere and are in no row.
-- Kept per run.
-- group: runs
-- run_id              the replay
-- endpoint            base url, or the replica as a router names it
-- requests            requests that went to it
-- request_ratio       of all that went anywhere
-- failed              of them, failed
-- gone_at_s           when it was first found to have gone, seconds since the run began; null: it was there all the time
-- back_at_s           when it was back after the last time; null: it did not come back, or was never gone
-- p50_ttft_s          time to first token, from sent, of successful requests, seconds
-- p99_ttft_s          the same, 99th percentile; null below 100 samples
-- p50_tpot_s          time per token after the first, seconds
-- cached_ratio        share of prompt tokens that the server says it had; null where it does not say
-- mean_in_flight      requests in flight there, mean over the run's time
-- request_cv          standard deviation over the run's servers of their requests, over the mean: 0 is even; null for one server
-- in_flight_cv        the same of what was in flight
with routed as (
    select
        requests.*,
        coalesce(requests.endpoint, runs.base_url) as went_to,
        coalesce(requests.done_s, requests.last_token_s, requests.sent_s) as until_s
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where not requests.is_warm_up
        and (requests.is_sent or requests.failure is not null)
),

spans as (
    select
        run_id,
        max(until_s) - min(sent_s) as length_s
    from routed
    group by run_id
),

per_endpoint as (
    select
        run_id,
        went_to as endpoint,
        bool_or(endpoint is not null) as is_named,
        count(*) as requests,
        count(*) filter (where failure is not null) as failed,
        count(ttft_s) filter (where is_success) as with_ttft,
        quantile_cont(ttft_s, [0.5, 0.99]) filter (where is_success) as ttft,
        quantile_cont(tpot_s, 0.5) filter (where is_success) as p50_tpot_s,
        sum(cached_tokens) / nullif(sum(coalesce(input_tokens_reported, input_tokens)) filter (where cached_tokens is not null), 0)
            as cached_ratio,
        coalesce(sum(until_s - sent_s), 0) as in_flight_seconds
    from routed
    group by
        run_id,
        went_to
),

absences as (
    select
        run_id,
        endpoint,
        min(gone_at_s) as gone_at_s,
        arg_max(struct_pack(at_s := back_at_s), gone_at_s).at_s as back_at_s
    from staging.absences
    group by
        run_id,
        endpoint
)

select
    per_endpoint.run_id,
    per_endpoint.endpoint,
    per_endpoint.requests,
    per_endpoint.requests / sum(per_endpoint.requests) over of_run as request_ratio,
    per_endpoint.failed,
    absences.gone_at_s,
    absences.back_at_s,
    per_endpoint.ttft[1] as p50_ttft_s,
    macros.p99_of(per_endpoint.ttft, per_endpoint.with_ttft) as p99_ttft_s,
    per_endpoint.p50_tpot_s,
    per_endpoint.cached_ratio,
    per_endpoint.in_flight_seconds / nullif(spans.length_s, 0) as mean_in_flight,
    case
        when count(*) filter (where per_endpoint.is_named) over of_run > 1
            then stddev_pop(per_endpoint.requests) filter (where per_endpoint.is_named) over of_run
                / avg(per_endpoint.requests) filter (where per_endpoint.is_named) over of_run
    end as request_cv,
    case
        when count(*) filter (where per_endpoint.is_named) over of_run > 1
            then stddev_pop(per_endpoint.in_flight_seconds) filter (where per_endpoint.is_named) over of_run
                / nullif(avg(per_endpoint.in_flight_seconds) filter (where per_endpoint.is_named) over of_run, 0)
    end as in_flight_cv
from per_endpoint
inner join spans on spans.run_id = per_endpoint.run_id
left join absences on absences.run_id = per_endpoint.run_id and absences.endpoint = per_endpoint.endpoint
window of_run as (partition by per_endpoint.run_id)
