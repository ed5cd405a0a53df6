-- One row per run, metric and statistic: its value, and the values that it has in other draws of the run's own blocks of time.
-- marts.run_pairs makes the intervals of a comparison of these; macros/resampling.sql says how blocks are drawn.
--
-- Latencies are over successful requests without warm-up. Runs of one plan draw the same blocks, so that their replicates go up and down together.
-- Kept per run.
-- group: runs
-- run_id       the replay
-- metric       'ttft_s', 'tpot_s', 'e2e_s', 'itl_s' or 'output_token_per_s'
-- statistic    'mean', 'p50', 'p90', 'p95' or 'p99'; of output_token_per_s the mean alone
-- samples      requests; of itl_s gaps
-- value        seconds, or tokens per second; null below one sample beyond a percentile: p99 wants 100
-- blocks       of sixty blocks of time, how many hold a sample at or beyond the value; of a mean, how many hold one
-- samples_wanted   of an interval: 299 for p99, 30 for a mean
-- is_enough    there are so many, and ten blocks hold one at or beyond the value
-- replicates   the value in each draw of blocks, in the order of the draws
-- The window of throughput is that of marts.runs: from the first due time to the last stream's end.
with windows as (
    select
        run_id,
        count(*) filter (where is_success) as samples,
        min(due_s) as first_s,
        nullif(max(due_s) - min(due_s), 0) as due_length_s,
        nullif(max(coalesce(done_s, last_token_s, sent_s)) - min(due_s), 0) as length_s,
        case when count(*) filter (where is_success and received_tokens is null) = 0
            then (sum(received_tokens) filter (where is_success))::double end as tokens
    from staging.requests
    where not is_warm_up
    group by run_id
),

requests as (
    select
        requests.run_id,
        requests.seq,
        coalesce(least(floor(60 * (requests.due_s - windows.first_s) / windows.due_length_s), 59), 0)::integer as block,
        requests.ttft_s,
        requests.tpot_s,
        requests.e2e_s,
        requests.is_whole
    from staging.requests
    inner join windows on windows.run_id = requests.run_id
    where requests.is_success
        and not requests.is_warm_up
),

latencies as (
    unpivot requests
    on ttft_s, tpot_s, e2e_s
    into name metric value value
),

-- Gaps by their length: fifty million of them have some ten thousand lengths. As in staging.token_gaps, whose rows would have to be joined
-- to their block each for itself.
gaps as (
    select
        run_id,
        block,
        offset_us - earlier_us as gap_us,
        count(*) as gaps
    from (
        select
            requests.run_id,
            requests.block,
            unnest(measured.chunk_offsets_us[2:]) as offset_us,
            unnest(measured.chunk_offsets_us[:-2]) as earlier_us
        from requests
        inner join staging.chunk_offsets as measured
            on measured.run_id = requests.run_id
            and measured.seq = requests.seq
        where len(measured.chunk_offsets_us) > 1
            and not requests.is_whole
    ) as each
    group by all
),

lengths as (
    select
        run_id,
        gap_us,
        sum(sum(gaps)) over (partition by run_id order by gap_us) as not_above
    from gaps
    group by
        run_id,
        gap_us
),

gap_totals as (
    select
        run_id,
        sum(gaps)::bigint as samples,
        sum(gaps * gap_us) * 1e-6 / sum(gaps) as mean
    from gaps
    group by run_id
),

-- The place, from 0, of each rung among the sorted gaps, and the gap there: a ladder as quantile_cont makes it.
gap_ladders as (
    select
        places.run_id,
        list(1e-6 * (low.gap_us + places.share * (high.gap_us - low.gap_us)) order by places.q) as ladder
    from (
        select
            run_id,
            unnest(macros.rungs()) as q,
            floor(q * (samples - 1)) as below,
            ceil(q * (samples - 1)) as above,
            q * (samples - 1) - below as share
        from gap_totals
    ) as places
    asof join lengths as low
        on low.run_id = places.run_id
        and places.below < low.not_above
    asof join lengths as high
        on high.run_id = places.run_id
        and places.above < high.not_above
    group by places.run_id
),

-- quantile_cont of a thousand shares at once looks for each anew: of a million samples that takes a minute, and sorting them half a second.
sorted as (
    select
        run_id,
        metric,
        count(*) as samples,
        avg(value) as mean,
        list(value order by value) as in_order
    from latencies
    group by
        run_id,
        metric
),

latency_ladders as (
    select
        run_id,
        metric,
        samples,
        mean,
        [macros.interpolated(in_order, q) for q in macros.rungs()] as ladder
    from sorted
),

ladders as (
    select
        run_id,
        metric,
        samples,
        mean,
        [macros.interpolated(ladder, q) for q in macros.compared_quantiles()] as quantiles,
        ladder
    from latency_ladders
    union all
    select
        gap_totals.run_id,
        'itl_s',
        gap_totals.samples,
        gap_totals.mean,
        [macros.interpolated(gap_ladders.ladder, q) for q in macros.compared_quantiles()],
        gap_ladders.ladder
    from gap_totals
    inner join gap_ladders on gap_ladders.run_id = gap_totals.run_id
),

samples as (
    select
        run_id,
        metric,
        block,
        value,
        1 as times
    from latencies
    union all
    select
        run_id,
        'itl_s',
        block,
        gap_us * 1e-6,
        gaps
    from gaps
),

-- Without the ladders, so that they are not copied for every sample.
levels as (
    select
        run_id,
        metric,
        quantiles[1] as p50,
        quantiles[2] as p90,
        quantiles[3] as p95,
        quantiles[4] as p99
    from ladders
),

-- Samples in each of sixty blocks of time, at or below each quantile and at or beyond it.
latency_blocks as (
    select
        samples.run_id,
        samples.metric,
        samples.block,
        sum(samples.times)::double as size,
        sum(samples.value * samples.times) as total,
        coalesce(sum(samples.times) filter (where samples.value <= levels.p50), 0)::double as below_p50,
        coalesce(sum(samples.times) filter (where samples.value <= levels.p90), 0)::double as below_p90,
        coalesce(sum(samples.times) filter (where samples.value <= levels.p95), 0)::double as below_p95,
        coalesce(sum(samples.times) filter (where samples.value <= levels.p99), 0)::double as below_p99,
        bool_or(samples.value >= levels.p50) as has_p50,
        bool_or(samples.value >= levels.p90) as has_p90,
        bool_or(samples.value >= levels.p95) as has_p95,
        bool_or(samples.value >= levels.p99) as has_p99
    from samples
    inner join levels
        on levels.run_id = samples.run_id
        and levels.metric = samples.metric
    group by all
),

received as (
    select
        windows.run_id,
        least(floor(60 * (requests.last_token_s - windows.first_s) / windows.length_s), 59)::integer as block,
        sum(requests.received_tokens)::double as tokens
    from windows
    inner join staging.requests on requests.run_id = windows.run_id
    where windows.tokens is not null
        and requests.is_success
        and not requests.is_warm_up
    group by all
),

-- A block without tokens counts too: its seconds are in the denominator.
token_blocks as (
    select
        windows.run_id,
        'output_token_per_s' as metric,
        sixtieths.block,
        windows.length_s / 60 as size,
        coalesce(received.tokens, 0) as total
    from windows
    cross join (select unnest(range(60))::integer as block) as sixtieths
    left join received
        on received.run_id = windows.run_id
        and received.block = sixtieths.block
    where windows.tokens is not null
),

blocks as (
    select * from latency_blocks
    union all by name
    select * from token_blocks
),

-- How often each block is in each replicate of the runs of a plan.
draws as (
    select
        seed,
        replicate,
        macros.drawn_block(seed, replicate, draw) as drawn,
        count(*)::double as times
    from (select distinct coalesce(plan_fingerprint, run_id) as seed from staging.runs) as seeds
    cross join (select unnest(range(macros.replicates())) as replicate) as replicates
    cross join (select unnest(range(macros.resampled_blocks())) as draw) as each
    group by all
),

drawn as (
    select
        blocks.run_id,
        blocks.metric,
        draws.replicate,
        sum(draws.times * blocks.size) as size,
        sum(draws.times * blocks.total) as total,
        sum(draws.times * blocks.below_p50) as below_p50,
        sum(draws.times * blocks.below_p90) as below_p90,
        sum(draws.times * blocks.below_p95) as below_p95,
        sum(draws.times * blocks.below_p99) as below_p99
    from blocks
    inner join staging.runs on runs.run_id = blocks.run_id
    inner join draws
        on draws.seed = coalesce(runs.plan_fingerprint, runs.run_id)
        and draws.drawn = blocks.block * macros.resampled_blocks() // 60
    group by
        blocks.run_id,
        blocks.metric,
        draws.replicate
),

-- One list for each statistic. A draw that no sample is in is not there: such lists are not compared.
replicates as (
    select
        run_id,
        metric,
        list(total / size order by replicate) as means,
        list(below_p50 / size order by replicate) as below_p50,
        list(below_p90 / size order by replicate) as below_p90,
        list(below_p95 / size order by replicate) as below_p95,
        list(below_p99 / size order by replicate) as below_p99
    from drawn
    group by
        run_id,
        metric
),

bunching as (
    select
        run_id,
        metric,
        count(*) filter (where total > 0) as blocks_mean,
        count(*) filter (where has_p50) as blocks_p50,
        count(*) filter (where has_p90) as blocks_p90,
        count(*) filter (where has_p95) as blocks_p95,
        count(*) filter (where has_p99) as blocks_p99
    from blocks
    group by
        run_id,
        metric
),

each as (
    select
        bunching.run_id,
        bunching.metric,
        coalesce(ladders.samples, windows.samples) as samples,
        unnest([
            {
                'statistic': 'mean', 'q': null::double, 'found': coalesce(ladders.mean, windows.tokens / windows.length_s), 'blocks': blocks_mean,
                'replicates': means
            },
            {
                'statistic': 'p50', 'q': 0.5e0, 'found': quantiles[1], 'blocks': blocks_p50,
                'replicates': [macros.replicate_quantile(ladder, 0.5e0, below) for below in below_p50]
            },
            {
                'statistic': 'p90', 'q': 0.9e0, 'found': quantiles[2], 'blocks': blocks_p90,
                'replicates': [macros.replicate_quantile(ladder, 0.9e0, below) for below in below_p90]
            },
            {
                'statistic': 'p95', 'q': 0.95e0, 'found': quantiles[3], 'blocks': blocks_p95,
                'replicates': [macros.replicate_quantile(ladder, 0.95e0, below) for below in below_p95]
            },
            {
                'statistic': 'p99', 'q': 0.99e0, 'found': quantiles[4], 'blocks': blocks_p99,
                'replicates': [macros.replicate_quantile(ladder, 0.99e0, below) for below in below_p99]
            }
        ], recursive := true)
    from bunching
    inner join windows on windows.run_id = bunching.run_id
    inner join replicates
        on replicates.run_id = bunching.run_id
        and replicates.metric = bunching.metric
    left join ladders
        on ladders.run_id = bunching.run_id
        and ladders.metric = bunching.metric
)

select
    run_id,
    metric,
    statistic,
    samples,
    case when samples * (1 - coalesce(q, 0)) > 0.9999e0 then found end as value,
    blocks,
    coalesce(macros.fewest_samples(q), 30) as samples_wanted,
    samples >= samples_wanted and blocks >= 10 and len(replicates) = macros.replicates() as is_enough,
    replicates
from each
where statistic = 'mean'
    or metric <> 'output_token_per_s'
