-- One row per run of a server that speculates and run of the same plan, concurrency and deployment without: how much sooner a token comes, by how many
-- requests were in flight. A step that checks guesses is longer, and the more so the more sequences there are, so the speed-up falls over concurrency.
--
-- Speed-ups are quotients of the run without over the run with speculation: 1.5 is a time per token of two thirds. The interval is that of marts.run_pairs,
-- by mean, and null where that has none. A server that does not say that it speculates (num_speculative_tokens of marts.server_settings) is not found.
-- Name the runs: the view has all pairs.
-- group: runs
-- run_id                    the run without speculation
-- other_run_id              the run with it
-- max_concurrency           requests in flight at most; null in an open loop without a cap
-- mean_in_flight            of the run without, mean over its time
-- speculative_tokens        guessed ahead in a step
-- acceptance_length         tokens that a step brought each sequence, as the server counts; null where it does not
-- tpot_s                    mean time per token without, seconds
-- speculated_tpot_s         with speculation, seconds
-- is_valid                  both runs are; else nothing is concluded of them
-- speedup_ratio             tpot_s / speculated_tpot_s
-- low_speedup_ratio         lower end of its 90 % interval; null where a run is invalid
-- high_speedup_ratio        upper end of it
-- throughput_speedup_ratio  output tokens per second with speculation, over those without
-- is_faster                 the interval lies above 1; null without one
with pairs as (
    select
        one.run_id,
        two.run_id as other_run_id,
        one.max_concurrency,
        two.speculative_tokens
    from staging.runs as one
    inner join staging.runs as two
        on two.plan_fingerprint = one.plan_fingerprint
        and two.mode is not distinct from one.mode
        and two.max_concurrency is not distinct from one.max_concurrency
        and two.served_model is not distinct from one.served_model
        and two.gpu is not distinct from one.gpu
        and two.tensor_parallel_size is not distinct from one.tensor_parallel_size
    where one.speculative_tokens = 0
        and two.speculative_tokens > 0
),

-- Counters at the last look less those at the first.
brought as (
    select
        run_id,
        1 + sum(grown) filter (where quantity = 'accepted_tokens') / nullif(sum(grown) filter (where quantity = 'drafts'), 0) as acceptance_length
    from (
        select
            run_id,
            quantity,
            max(value) - min(value) as grown
        from staging.server_samples
        where quantity in ('accepted_tokens', 'drafts')
        group by
            run_id,
            url,
            quantity,
            labels
    ) as counters
    group by run_id
),

flights as (
    select
        run_id,
        sum(mean_in_flight * bin_width_s) / sum(bin_width_s) as mean_in_flight
    from marts.timeline
    group by run_id
)

select
    pairs.run_id,
    pairs.other_run_id,
    pairs.max_concurrency,
    flights.mean_in_flight,
    pairs.speculative_tokens,
    brought.acceptance_length,
    tpot.value as tpot_s,
    tpot.other_value as speculated_tpot_s,
    plain.is_valid and guessed.is_valid as is_valid,
    1 / tpot.ratio as speedup_ratio,
    case when plain.is_valid and guessed.is_valid then 1 / tpot.high_ratio end as low_speedup_ratio,
    case when plain.is_valid and guessed.is_valid then 1 / tpot.low_ratio end as high_speedup_ratio,
    tokens.ratio as throughput_speedup_ratio,
    case when plain.is_valid and guessed.is_valid then tpot.high_ratio < 1 end as is_faster
from pairs
inner join marts.runs as plain on plain.run_id = pairs.run_id
inner join marts.runs as guessed on guessed.run_id = pairs.other_run_id
inner join marts.run_pairs as tpot
    on tpot.run_id = pairs.run_id
    and tpot.other_run_id = pairs.other_run_id
    and tpot.metric = 'tpot_s'
    and tpot.statistic = 'mean'
left join marts.run_pairs as tokens
    on tokens.run_id = pairs.run_id
    and tokens.other_run_id = pairs.other_run_id
    and tokens.metric = 'output_token_per_s'
left join flights on flights.run_id = pairs.run_id
left join brought on brought.run_id = pairs.other_run_id
