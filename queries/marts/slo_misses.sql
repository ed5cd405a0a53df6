-- One row per request of a run that is beyond an objective of the run's SLO for its class: by its own times, and for itl by the percentile of its own
-- gaps between chunks. A successful request without a row here is accepted.
-- group: money
-- run_id   the replay
-- seq      the request's place in its plan
with bounds as (
    select
        run_id,
        metric,
        percentile / 100 as q,
        at_most,
        class
    from staging.slo_objectives
    where metric <> 'failure_ratio'
),

gaps as (
    select
        run_id,
        seq,
        list(itl_s order by itl_s) as in_order
    from staging.chunks
    where itl_s is not null
        and run_id in (select run_id from bounds where metric = 'itl')
    group by
        run_id,
        seq
)

select distinct
    requests.run_id,
    requests.seq
from bounds
inner join staging.requests
    on requests.run_id = bounds.run_id
    and coalesce(requests.class = bounds.class, bounds.class is null)
left join gaps on gaps.run_id = requests.run_id and gaps.seq = requests.seq
where bounds.at_most < case bounds.metric
    when 'ttft' then requests.ttft_s
    when 'ttft_from_due' then requests.ttft_from_due_s
    when 'tpot' then requests.tpot_s
    when 'e2e' then requests.e2e_s
    when 'e2e_from_due' then requests.e2e_from_due_s
    when 'itl' then macros.interpolated(gaps.in_order, bounds.q)
end
