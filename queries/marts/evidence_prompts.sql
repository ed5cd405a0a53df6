-- One row per run and figure of its first tokens that a diagnosis looks at: what computing the prompts takes, and what waits
-- for it. Warm-up is left out. staging.evidence_figures says what each figure is.
--
-- A prompt is alone if nothing else of this client was in flight while it was computed. Long prompts are the longest tenth, the others are
-- short. A first token is slow if it is of a short prompt and took more than three times the median of the short ones. It was next to a long
-- prompt if a long prompt was being computed at any time of its wait. The wait for other prompts is lam E[x^2] / (2 (1 - lam E[x])) for a
-- predicted work x per prompt (Pollaczek 1930, Khinchine 1932), with an exponential tail of that mean.
-- Kept per run.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with sent as (
    select
        run_id,
        seq,
        sent_s,
        first_token_s,
        ttft_s,
        is_success and not is_warm_up as is_measured,
        greatest(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0), 1) as uncached_tokens,
        coalesce(cached_tokens, 0) as cached_tokens,
        max(coalesce(done_s, last_token_s, sent_s)) over (
            partition by run_id order by sent_s rows between unbounded preceding and 1 preceding
        ) as others_done_s,
        lead(sent_s) over (partition by run_id order by sent_s) as next_sent_s
    from staging.requests
    where is_sent
),

limits as (
    select
        run_id,
        quantile_cont(uncached_tokens, 0.9) as long_tokens
    from sent
    where is_measured
    group by run_id
),

prompts as (
    select
        sent.*,
        macros.prompt_s(d, 1, sent.uncached_tokens, sent.cached_tokens) as work_s,
        coalesce(sent.others_done_s <= sent.sent_s, true) and coalesce(sent.next_sent_s >= sent.first_token_s, true) as is_alone,
        limits.long_tokens
    from sent
    inner join limits on limits.run_id = sent.run_id
    left join staging.deployments as d on d.run_id = sent.run_id
    where sent.is_measured
),

alone as (
    select
        run_id,
        count(*) as prompts,
        regr_slope(ttft_s, uncached_tokens) as slope_s,
        regr_r2(ttft_s, uncached_tokens) as r2,
        regr_slope(work_s, uncached_tokens) as predicted_slope_s,
        quantile_cont(uncached_tokens, 0.95) - quantile_cont(uncached_tokens, 0.05) as range_tokens
    from prompts
    where is_alone
    group by run_id
    having count(*) >= 10
),

-- The latest end among the long prompts sent so far: if it is after a short prompt was sent, the two overlapped.
longs as (
    select
        run_id,
        sent_s,
        max(first_token_s) over (partition by run_id order by sent_s range unbounded preceding) as busy_until_s
    from prompts
    where uncached_tokens > long_tokens
),

shorts as (
    select
        run_id,
        sent_s,
        first_token_s,
        ttft_s
    from prompts
    where uncached_tokens <= long_tokens
),

usual as (
    select
        run_id,
        median(ttft_s) as p50_ttft_s
    from shorts
    group by run_id
),

neighbours as (
    select
        shorts.run_id,
        median(shorts.ttft_s) as p50_ttft_s,
        case when count(*) >= 100 then quantile_cont(shorts.ttft_s, 0.99) end as p99_ttft_s,
        avg(coalesce(longs.busy_until_s >= shorts.sent_s, false)::integer) filter (where shorts.ttft_s > 3 * usual.p50_ttft_s)
            as slow_beside_long_ratio,
        avg(coalesce(longs.busy_until_s >= shorts.sent_s, false)::integer) as beside_long_ratio
    from shorts
    inner join usual on usual.run_id = shorts.run_id
    asof left join longs on longs.run_id = shorts.run_id and longs.sent_s <= shorts.first_token_s
    group by shorts.run_id
),

waits as (
    select
        run_id,
        p50_prefill_s,
        busy_ratio,
        case when busy_ratio < 1 then squares_per_s / (2 * (1 - busy_ratio)) end as wait_s
    from (
        select
            run_id,
            median(work_s) as p50_prefill_s,
            sum(work_s) / nullif(max(sent_s) - min(sent_s), 0) as busy_ratio,
            sum(work_s * work_s) / nullif(max(sent_s) - min(sent_s), 0) as squares_per_s
        from prompts
        group by run_id
    ) as each
),

known as (
    select
        waits.run_id,
        waits,
        alone,
        neighbours,
        -- p99 of an exponential tail; the share busy_ratio of the prompts waits at all.
        waits.wait_s / waits.busy_ratio * greatest(ln(100 * waits.busy_ratio), 0) as p99_wait_s
    from waits
    left join alone on alone.run_id = waits.run_id
    left join neighbours on neighbours.run_id = waits.run_id
)

select
    run_id,
    unnest(macros.known_figures([
        {'figure': 'alone_prompts', 'value': alone.prompts::double},
        {'figure': 'alone_r2_ratio', 'value': alone.r2},
        {'figure': 'alone_slope_s', 'value': alone.slope_s},
        -- The standard error of a straight line's slope is slope * sqrt((1 / R2 - 1) / (n - 2)).
        {'figure': 'alone_low_slope_s', 'value': alone.slope_s - 1.81e0 * abs(alone.slope_s) * sqrt(greatest(1 / nullif(alone.r2, 0) - 1, 0) / (alone.prompts - 2))},
        {'figure': 'alone_growth_s', 'value': alone.slope_s * alone.range_tokens},
        {'figure': 'prefill_slope_ratio', 'value': alone.slope_s / nullif(alone.predicted_slope_s, 0)},
        {'figure': 'p50_prefill_s', 'value': waits.p50_prefill_s},
        {'figure': 'prefill_wait_ratio', 'value': p99_wait_s / nullif(neighbours.p99_ttft_s, 0)},
        {'figure': 'p99_short_ttft_s', 'value': neighbours.p99_ttft_s},
        {'figure': 'short_tail_ratio', 'value': neighbours.p99_ttft_s / nullif(neighbours.p50_ttft_s, 0)},
        {'figure': 'slow_beside_long_ratio', 'value': neighbours.slow_beside_long_ratio},
        {'figure': 'beside_long_ratio', 'value': neighbours.beside_long_ratio}
    ]), recursive := true)
from known
