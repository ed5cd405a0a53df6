-- One row per run and objective of its SLO: what was observed, how sure that is, and whether the
-- objective is met. Warm-up is left out.
--
-- A percentile is of successful requests (itl: of the gaps between their chunks), TTFT and E2E from when a request was due. Its
-- interval is that of the order statistics, 95 %. It is met when the interval's upper end is within the
-- bound, not met when its lower end is above it, and undecided else, and always below the fewest samples that a two-sided
-- interval wants (367 for p99). failure_ratio is of all requests that were tried: a count of this run, so it is met when none
-- failed, whatever the bound, and judged by Wilson's interval where some did. An invalid run is neither: its outcome is 'invalid'.
-- run_id          the replay
-- objective       1-based place in the SLO
-- slo_name        what the user called the SLO
-- metric          as asked: 'ttft' and 'e2e' are from due too; 'ttft', 'ttft_from_due', 'tpot', 'e2e', 'e2e_from_due', 'itl' or 'failure_ratio'
-- percentile      99 for p99; null for a ratio
-- class           requests that it is about; null: all
-- at_most         the bound: seconds, or a share
-- observed        the percentile, seconds, or the share; null without samples or below 1 / (1 - percentile) of them: 100 for p99
-- low             lower end of its interval; null where there is none
-- high            upper end of its interval; null where there is none
-- samples         what it rests on
-- above           of these, above the bound, or failed
-- outcome         'met', 'not met', 'undecided' or 'invalid'
-- more_requests   about so many more would decide, if they went as these; null when decided, or when it lies on the bound
with objectives as (
    select
        slo_objectives.*,
        case slo_objectives.metric when 'ttft' then 'ttft_from_due' when 'e2e' then 'e2e_from_due' else slo_objectives.metric end
            as measured_metric,
        slo_objectives.percentile / 100 as q
    from staging.slo_objectives
),

samples as (
    select
        run_id,
        class,
        unnest(['ttft_from_due', 'tpot', 'e2e_from_due']) as metric,
        unnest([ttft_from_due_s, tpot_s, e2e_from_due_s]) as value_s,
        true as is_first
    from staging.requests
    where is_success
        and not is_warm_up
    union all
    select
        chunks.run_id,
        requests.class,
        'itl',
        chunks.itl_s,
        chunks.chunk_seq = 1
    from staging.chunks
    inner join staging.requests on requests.run_id = chunks.run_id and requests.seq = chunks.seq
    where requests.is_success
        and not requests.is_warm_up
),

-- In order, so that a rank is a place.
judged as (
    select
        objectives.run_id,
        objectives.objective,
        objectives.q,
        list(samples.value_s order by samples.value_s) as sorted,
        count(*) filter (where samples.value_s > objectives.at_most) as above,
        count(*) as samples,
        count(*) filter (where samples.is_first) as answers
    from objectives
    inner join samples
        on samples.run_id = objectives.run_id
        and samples.metric = objectives.measured_metric
        and coalesce(samples.class = objectives.class, objectives.class is null)
    where samples.value_s is not null
    group by
        objectives.run_id,
        objectives.objective,
        objectives.q
),

tried as (
    select
        objectives.run_id,
        objectives.objective,
        count(*) filter (where requests.failure is not null) as failed,
        count(*) as requests
    from objectives
    inner join staging.requests
        on requests.run_id = objectives.run_id
        and coalesce(requests.class = objectives.class, objectives.class is null)
    where objectives.metric = 'failure_ratio'
        and not requests.is_warm_up
        and (requests.is_sent or requests.failure is not null)
        and coalesce(requests.failure, '') <> 'cancelled' -- by the user, not by the server
    group by
        objectives.run_id,
        objectives.objective
),

ranked as (
    select
        *,
        macros.quantile_ranks(samples, q) as ranks
    from judged
),

observed as (
    select
        objectives.*,
        coalesce(tried.requests, ranked.samples, 0) as samples,
        coalesce(tried.failed, ranked.above, 0) as above,
        coalesce(ranked.answers / ranked.samples, 1) as request_per_sample,
        case
            when tried.requests > 0 then tried.failed / tried.requests
            when ranked.samples * (1 - objectives.q) >= 0.9999e0
                then macros.interpolated(ranked.sorted, objectives.q)
        end as observed,
        case
            when tried.requests > 0 then macros.share_low(tried.failed, tried.requests)
            when ranked.ranks.lower > 0 then ranked.sorted[ranked.ranks.lower]
        end as low,
        case
            when tried.requests > 0 then macros.share_high(tried.failed, tried.requests)
            when ranked.ranks.upper <= ranked.samples then ranked.sorted[ranked.ranks.upper]
        end as high,
        coalesce(ranked.samples >= macros.fewest_samples(objectives.q), tried.requests > 0, false) as is_enough
    from objectives
    left join ranked on ranked.run_id = objectives.run_id and ranked.objective = objectives.objective
    left join tried on tried.run_id = objectives.run_id and tried.objective = objectives.objective
),

decided as (
    select
        observed.*,
        case
            when not runs.is_valid then 'invalid'
            when not is_enough then 'undecided'
            when metric = 'failure_ratio' and at_most = 0 and above > 0 then 'not met'
            when low > at_most and not (metric = 'failure_ratio' and above = 0) then 'not met'
            when runs.status <> 'done' then 'undecided' -- the rest of the plan might have been worse
            when metric = 'failure_ratio' and above = 0 then 'met'
            when high <= at_most then 'met'
            else 'undecided'
        end as outcome,
        macros.samples_to_tell(above, nullif(samples, 0), coalesce(1 - q, at_most)) as to_tell
    from observed
    inner join marts.runs on runs.run_id = observed.run_id
)

select
    run_id,
    objective,
    slo_name,
    metric,
    percentile,
    class,
    at_most,
    observed,
    low,
    high,
    samples,
    above,
    outcome,
    case
        when outcome = 'undecided' and (to_tell is not null or not is_enough)
            -- With none above the bound, as many as an interval wants are enough.
            then ceil(
                greatest(case when above > 0 then to_tell - samples end, macros.fewest_samples(q) - samples, 1) * request_per_sample
            )::bigint
    end as more_requests
from decided
