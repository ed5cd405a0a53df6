-- One row per run and objective of its SLO: what was observed, how sure that is, and whether the
-- objective is met. Warm-up is left out.
--
-- Requests that are near each other in time share a queue, so requests of one burst are not independent samples. The time of the samples is
-- cut into sixty blocks, and how the slowest samples (those at or beyond the observed percentile; for failure_ratio the failed
-- ones) bunch in blocks gives the effective sample size: effective_samples. If at least ten blocks hold one of the slowest, it comes from
-- the spread between blocks: the largest of that of 60, 30 and 20 blocks, plus one, because a run in which no long burst happened
-- looks quieter than its load is, and widened for few blocks as Student's t is. The order statistics of that many samples give the
-- 90 % interval: the objective is met if its upper end is within the bound, and not met if its lower end is above it.
-- If fewer blocks hold one, or there are too few effective samples for an interval, bursts are counted instead: of bursts / (1 - percentile)
-- samples, blocks_above are above the bound, and the binomial at 5 % on each side decides.
-- So none above the bound is "met" when the slowest 1 % came in at least four bursts, and 60 of 60 above it are "not met".
--
-- A percentile is never met below the fewest samples that an interval wants (299 for p99). failure_ratio is of all requests that
-- were tried: a count of this run, so it is met when none failed, whatever the bound, and judged by Wilson's interval where some
-- did. A run that was stopped is never met: the rest might have been worse. An invalid run is neither: its outcome is 'invalid'.
-- Kept per run with objectives.
-- group: money
-- run_id             the replay
-- objective          1-based place in the SLO
-- slo_name           what the user called the SLO
-- metric             'ttft', 'ttft_from_due', 'tpot', 'e2e', 'e2e_from_due', 'itl' or 'failure_ratio'
-- percentile         99 for p99; null for a ratio
-- class              requests that it is about; null: all
-- at_most            the bound: seconds, or a share
-- observed           the percentile, seconds, or the share; null without samples or below 1 / (1 - percentile) of them: 100 for p99
-- low                lower end of its 90 % interval; null where there are too few independent bursts for one
-- high               upper end of its interval; null where there is none
-- samples            what it rests on: successful requests, of itl the gaps between their chunks, of failure_ratio all that were tried
-- effective_samples  independent samples that they are worth
-- above              of the samples, above the bound, or failed
-- blocks_above       of the sixty blocks of time, hold one of these
-- blocks_slowest     of the sixty blocks, hold one at or beyond the observed percentile, or a failed one; an interval wants ten
-- outcome            'met', 'not met', 'undecided' or 'invalid'
-- reason             why undecided: 'stopped', 'came whole' (the answers: no time per token is known), 'too few samples', 'too few bursts', 'within the interval' (the bound is) or
--                    'on the bound' (so near it that no number would tell); else null
-- more_requests      about so many more would decide, if they went as these; null when decided, stopped, or no number would tell
with objectives as (
    select
        * exclude (price_per_gpu_hour),
        percentile / 100 as q
    from staging.slo_objectives
),

measured as (
    select
        run_id,
        class,
        due_s as at_s,
        unnest(['ttft', 'ttft_from_due', 'tpot', 'e2e', 'e2e_from_due']) as metric,
        unnest([ttft_s, ttft_from_due_s, tpot_s, e2e_s, e2e_from_due_s]) as value,
        true as is_first
    from staging.requests
    where is_success
        and not is_warm_up
    union all
    select
        chunks.run_id,
        requests.class,
        chunks.at_s,
        'itl',
        chunks.itl_s,
        chunks.chunk_seq = 1
    from staging.chunks
    inner join staging.requests on requests.run_id = chunks.run_id and requests.seq = chunks.seq
    where requests.is_success
        and not requests.is_warm_up
    union all
    select
        requests.run_id,
        requests.class,
        requests.due_s,
        'failure_ratio',
        (requests.failure is not null or not requests.is_sent)::double,
        true
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where not requests.is_warm_up
        and macros.is_tried(requests.is_sent, requests.failure, runs.stopped_by)
),

samples as materialized (
    select
        objectives.run_id,
        objectives.objective,
        objectives.q,
        objectives.at_most,
        measured.at_s,
        measured.value,
        measured.is_first
    from objectives
    inner join measured
        on measured.run_id = objectives.run_id
        and measured.metric = objectives.metric
        and coalesce(measured.class = objectives.class, objectives.class is null)
    where measured.value is not null
),

-- Sorted, so that a rank is a position in the list.
sorted as materialized (
    select
        run_id,
        objective,
        any_value(q) as q,
        list(value order by value) as in_order,
        min(at_s) as first_s,
        nullif(max(at_s) - min(at_s), 0) as length_s,
        count(*) filter (where is_first) / count(*) as request_per_sample
    from samples
    group by
        run_id,
        objective
),

-- Where the slowest samples start. The sorted lists are left out, so that they are not copied for every sample.
levels as materialized (
    select
        run_id,
        objective,
        coalesce(macros.interpolated(in_order, q), 1) as slowest_from, -- 1: failed
        first_s,
        length_s,
        request_per_sample
    from sorted
),

blocks as materialized (
    select
        samples.run_id,
        samples.objective,
        coalesce(least(floor(60 * (samples.at_s - levels.first_s) / levels.length_s), 59), 0)::integer as block,
        count(*) as samples,
        count(*) filter (where samples.value >= levels.slowest_from) as slowest,
        count(*) filter (where samples.value > samples.at_most) as above
    from samples
    inner join levels on levels.run_id = samples.run_id and levels.objective = samples.objective
    group by all
),

counts as (
    select
        run_id,
        objective,
        sum(samples)::bigint as samples,
        sum(slowest)::bigint as slowest,
        sum(above)::bigint as above,
        count(*) filter (where slowest > 0) as blocks_slowest,
        count(*) filter (where above > 0) as blocks_above
    from blocks
    group by
        run_id,
        objective
),

-- Blocks merged into 60, 30 and 20 parts of the time.
parts as (
    select
        blocks.run_id,
        blocks.objective,
        cuts.parts,
        blocks.block * cuts.parts // 60 as part,
        sum(blocks.samples) as samples,
        sum(blocks.slowest) as slowest
    from blocks
    cross join (select unnest([60, 30, 20]) as parts) as cuts
    group by all
),

-- How much more the slowest samples scatter between the parts than independent ones would.
spreads as (
    select
        run_id,
        objective,
        parts,
        macros.spread_ratio(parts, sum(samples), sum(slowest), sum(slowest * slowest), sum(slowest * samples), sum(samples * samples))
            as spread_ratio
    from parts
    group by
        run_id,
        objective,
        parts
),

bunching as (
    select
        counts.*,
        max(spreads.spread_ratio) as spread_ratio
    from counts
    inner join spreads on spreads.run_id = counts.run_id and spreads.objective = counts.objective
    group by all
),

effective as (
    select
        objectives.*,
        coalesce(bunching.samples, 0) as samples,
        coalesce(bunching.above, 0) as above,
        coalesce(bunching.blocks_above, 0) as blocks_above,
        coalesce(bunching.blocks_slowest, 0) as blocks_slowest,
        coalesce(levels.request_per_sample, 1) as request_per_sample,
        macros.effective_by_spread(bunching.samples, bunching.spread_ratio, bunching.blocks_slowest) as by_spread,
        case
            when objectives.q is not null then macros.effective_by_bursts(bunching.samples, bunching.blocks_slowest, objectives.q)
            -- Failures of one block count as one.
            when bunching.above > 0 then bunching.samples * bunching.blocks_above / bunching.above
            else bunching.samples
        end as by_bursts,
        coalesce(bunching.blocks_slowest >= 10 and by_spread >= coalesce(macros.fewest_samples(objectives.q), 1), false) as has_interval,
        coalesce(floor(case when has_interval then by_spread else by_bursts end), 0)::bigint as effective_samples
    from objectives
    left join bunching on bunching.run_id = objectives.run_id and bunching.objective = objectives.objective
    left join levels on levels.run_id = objectives.run_id and levels.objective = objectives.objective
),

ranked as (
    select
        *,
        macros.quantile_ranks(effective_samples, q) as ranks,
        case
            when has_interval or above = samples then above * effective_samples / samples -- where all miss it is no burst
            else blocks_above
        end as effective_above
    from effective
),

observed as (
    select
        ranked.*,
        case
            when ranked.samples = 0 then null
            when ranked.q is null then ranked.above / ranked.samples
            when ranked.samples * (1 - ranked.q) >= 0.9999e0 then macros.interpolated(sorted.in_order, ranked.q)
        end as observed,
        case
            when not ranked.has_interval then null
            when ranked.q is null then macros.share_low(ranked.effective_above, ranked.effective_samples)
            else sorted.in_order[floor((ranked.ranks.lower - 1) * ranked.samples / ranked.effective_samples)::bigint + 1]
        end as low,
        case
            when not ranked.has_interval then null
            when ranked.q is null then macros.share_high(ranked.effective_above, ranked.effective_samples)
            else sorted.in_order[ceil(ranked.ranks.upper * ranked.samples / ranked.effective_samples)::bigint]
        end as high
    from ranked
    left join sorted on sorted.run_id = ranked.run_id and sorted.objective = ranked.objective
),

-- Whether the share above the bound is certainly allowed, or certainly not.
told as (
    select
        *,
        case
            when samples = 0 then false
            when metric = 'failure_ratio' then above = 0 or macros.share_high(effective_above, effective_samples) <= at_most
            when has_interval then high <= at_most
            else ranks.upper <= effective_samples - effective_above
        end as is_within,
        case
            when samples = 0 or above = 0 then false
            when metric = 'failure_ratio' then at_most = 0 or macros.share_low(effective_above, effective_samples) > at_most
            when has_interval then low > at_most
            else ranks.lower > effective_samples - effective_above
        end as is_beyond,
        samples = 0 or samples < coalesce(macros.fewest_samples(q), 1) as is_few,
        macros.samples_to_tell(effective_above, nullif(effective_samples, 0), coalesce(1 - q, at_most)) as to_tell
    from observed
),

decided as (
    select
        told.*,
        case
            when not runs.is_valid then 'invalid'
            when is_beyond then 'not met'
            when is_within and runs.status = 'done' then 'met'
            else 'undecided'
        end as outcome,
        case
            when outcome <> 'undecided' then null
            when is_within then 'stopped' -- the rest of the plan might have been worse
            when samples = 0 and metric in ('tpot', 'itl') and told.run_id in (select whole.run_id from staging.requests as whole where whole.is_whole)
                then 'came whole'
            when is_few then 'too few samples'
            when not has_interval and q is not null then 'too few bursts'
            when to_tell is null then 'on the bound'
            else 'within the interval'
        end as reason
    from told
    inner join marts.runs on runs.run_id = told.run_id
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
    effective_samples,
    above,
    blocks_above,
    blocks_slowest,
    outcome,
    reason,
    case
        when reason in ('too few samples', 'too few bursts', 'within the interval')
            -- If no sample is above the bound, the number that an interval needs is enough.
            then ceil(
                greatest(case when above > 0 then to_tell - effective_samples end, macros.fewest_samples(q) - effective_samples, 1)
                * coalesce(samples / nullif(effective_samples, 0), 1) * request_per_sample
            )::bigint
    end as more_requests
from decided
