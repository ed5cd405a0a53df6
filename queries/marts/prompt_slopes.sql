-- One row per run: how TTFT grows with the length of the prompt where nothing else is in the server (concurrency 1) and nothing is cached. Warm-up is left
-- out. A line and a parabola are fitted by least squares: attention grows with the square of the length, everything else with the length.
--
-- A request counts if at its server none was in flight when it was sent and none was sent before its first token, and if the server says that it
-- cached nothing, or says nothing of its cache. A line wants three requests of two lengths, a parabola four of three.
-- Kept per run.
-- group: tpot
-- run_id                the replay
-- requests              that count
-- lengths               different lengths among them
-- least_tokens, most_tokens   shortest and longest prompt, tokens
-- is_told_cold          the server said of all of them that nothing was cached
-- base_s                TTFT of no prompt by the line, seconds
-- per_token_s           slope of the line, seconds a token
-- linear_r2             share of the variance of TTFT that the line explains; null where TTFT does not vary
-- quadratic_base_s      TTFT of no prompt by the parabola, seconds
-- quadratic_per_token_s    its slope there, seconds a token
-- per_squared_token_s   its quadratic term, seconds a squared token
-- quadratic_r2          share of the variance that the parabola explains
with sent as (
    select
        run_id,
        is_success,
        is_warm_up,
        coalesce(input_tokens_reported, input_tokens)::double as tokens,
        cached_tokens,
        ttft_s,
        sent_s >= coalesce(max(coalesce(done_s, last_token_s)) over before_it, -1e9)
            and coalesce(first_token_s <= lead(sent_s) over in_order, true) as is_alone
    from staging.requests
    where is_sent
    window
        in_order as (partition by run_id, coalesce(endpoint, '') order by sent_s, seq),
        before_it as (partition by run_id, coalesce(endpoint, '') order by sent_s, seq rows between unbounded preceding and 1 preceding)
),

alone as (
    select
        run_id,
        tokens,
        tokens * tokens as squared,
        ttft_s,
        cached_tokens
    from sent
    where is_alone
        and is_success
        and not is_warm_up
        and ttft_s is not null
        and coalesce(cached_tokens, 0) = 0
),

moments as (
    select
        run_id,
        count(*) as requests,
        count(distinct tokens) as lengths,
        min(tokens) as least_tokens,
        max(tokens) as most_tokens,
        count(cached_tokens) = count(*) as is_told_cold,
        avg(ttft_s) as ttft_s,
        avg(tokens) as tokens,
        avg(squared) as squared,
        var_pop(ttft_s) as yy,
        var_pop(tokens) as xx,
        var_pop(squared) as zz,
        covar_pop(tokens, squared) as xz,
        covar_pop(tokens, ttft_s) as xy,
        covar_pop(squared, ttft_s) as zy
    from alone
    group by run_id
),

fitted as (
    select
        *,
        case when requests >= 3 and lengths >= 2 then xy / xx end as line,
        case when requests >= 4 and lengths >= 3 then (zz * xy - xz * zy) / (xx * zz - xz * xz) end as first_order,
        case when requests >= 4 and lengths >= 3 then (xx * zy - xz * xy) / (xx * zz - xz * xz) end as second_order
    from moments
)

select
    run_id,
    requests,
    lengths,
    least_tokens::bigint as least_tokens,
    most_tokens::bigint as most_tokens,
    is_told_cold,
    ttft_s - line * tokens as base_s,
    line as per_token_s,
    line * xy / nullif(yy, 0) as linear_r2,
    ttft_s - first_order * tokens - second_order * squared as quadratic_base_s,
    first_order as quadratic_per_token_s,
    second_order as per_squared_token_s,
    (first_order * xy + second_order * zy) / nullif(yy, 0) as quadratic_r2
from fitted
