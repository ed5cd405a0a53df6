-- One row per run and bin of its time: at most 120 bins, each as wide as the next of 1,
-- 2, 5, 10, 15, 30, 60, ... seconds. Bins in which nothing happened have a row.
--
-- Requests count in the bins in which they were due, sent or ended; latencies count in the bin in which their request was sent. Tokens are
-- spread evenly between a request's first and last. Warm-up is included, because this is what happened and not a summary. In sessions and
-- in a closed loop a request that was never sent was never due either.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- is_simulated         measured on a simulated server
-- bin_s                when the bin begins, seconds since the run began
-- bin_width_s          how long it is, seconds
-- due                  requests due in it
-- sent                 requests sent in it
-- completed            requests that ended well in it
-- failed               requests that failed in it
-- measured             successful requests sent in it, warm-up included: its latencies are over these
-- p50_ttft_s           time to first token, of successful requests sent in it, seconds
-- p99_ttft_s           the same, 99th percentile; null below 100 samples
-- p50_tpot_s           time per token after the first, seconds
-- p99_tpot_s           the same, 99th percentile; null below 100 samples
-- mean_in_flight       requests sent and not ended, mean over the bin
-- mean_running         requests between first and last token, mean over the bin
-- output_token_per_s   tokens received per second, to a millionth
with dues as (
    select
        requests.run_id,
        requests.due_s
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where requests.is_sent
        or requests.failure is not null
        or runs.mode = 'open'
),

-- A run in which nothing was due or sent is one second long.
spans as (
    select
        run_id,
        max(length_s) as length_s
    from (
        select
            run_id,
            max(coalesce(done_s, last_token_s, sent_s, 0)) as length_s
        from staging.requests
        group by run_id
        union all
        select
            run_id,
            max(due_s)
        from dues
        group by run_id
    ) as each
    group by run_id
),

widths as (
    select
        run_id,
        length_s,
        coalesce(
            list_min(wide_enough.widths), greatest(1e0, ceil(length_s / 120 / 3600) * 3600)
        ) as bin_width_s
    from (
        select
            run_id,
            length_s,
            [width for width in [1e0, 2e0, 5e0, 10e0, 15e0, 30e0, 60e0, 120e0, 300e0, 600e0, 900e0, 1800e0, 3600e0]
                if width * 120 >= length_s] as widths
        from spans
    ) as wide_enough
),

bins as (
    select
        run_id,
        bin_width_s,
        unnest(range(0, floor(length_s / bin_width_s)::bigint + 1)) as bin
    from widths
),

-- What changes at an instant: how many are in flight or running, and how many tokens
-- are there or come per second.
changes as (
    select
        run_id,
        due_s as at_s,
        1 as due,
        0 as sent,
        0 as completed,
        0 as failed,
        0 as in_flight,
        0 as running,
        0e0 as tokens,
        0e0 as token_per_s
    from dues
    union all
    select
        run_id,
        sent_s,
        0,
        1,
        0,
        0,
        1,
        0,
        0,
        0
    from staging.requests
    where sent_s is not null
    union all
    select
        run_id,
        coalesce(done_s, last_token_s),
        0,
        0,
        is_success::integer,
        (failure is not null)::integer,
        -1,
        0,
        0,
        0
    from staging.requests
    where sent_s is not null and coalesce(done_s, last_token_s) is not null
    union all
    select
        run_id,
        first_token_s,
        0,
        0,
        0,
        0,
        0,
        1,
        1,
        coalesce((coalesce(received_tokens, chunk_count) - 1) / nullif(last_token_s - first_token_s, 0), 0)
    from staging.requests
    where first_token_s is not null and last_token_s is not null
    union all
    select
        run_id,
        last_token_s,
        0,
        0,
        0,
        0,
        0,
        -1,
        case when last_token_s > first_token_s then 0 else coalesce(received_tokens, chunk_count, 1) - 1 end,
        -coalesce((coalesce(received_tokens, chunk_count) - 1) / nullif(last_token_s - first_token_s, 0), 0)
    from staging.requests
    where first_token_s is not null and last_token_s is not null
),

-- Per bin: sums of the changes and of the time that each has left in it.
bin_changes as (
    select
        changes.run_id,
        floor(changes.at_s / widths.bin_width_s)::bigint as bin,
        sum(due) as due,
        sum(sent) as sent,
        sum(completed) as completed,
        sum(failed) as failed,
        sum(in_flight) as in_flight,
        sum(running) as running,
        sum(tokens) as tokens,
        sum(token_per_s) as token_per_s,
        sum(in_flight * ((floor(at_s / bin_width_s) + 1) * bin_width_s - at_s)) as in_flight_s,
        sum(running * ((floor(at_s / bin_width_s) + 1) * bin_width_s - at_s)) as running_s,
        sum(token_per_s * ((floor(at_s / bin_width_s) + 1) * bin_width_s - at_s)) as spread_tokens
    from changes
    inner join widths on widths.run_id = changes.run_id
    group by
        changes.run_id,
        bin
),

latencies as (
    select
        requests.run_id,
        floor(requests.sent_s / widths.bin_width_s)::bigint as bin,
        count(requests.ttft_s) as with_ttft,
        count(requests.tpot_s) as with_tpot,
        quantile_cont(requests.ttft_s, [0.5, 0.99]) as ttft,
        quantile_cont(requests.tpot_s, [0.5, 0.99]) as tpot
    from staging.requests
    inner join widths on widths.run_id = requests.run_id
    where requests.is_success
    group by
        requests.run_id,
        bin
),

filled as (
    select
        bins.run_id,
        bins.bin,
        bins.bin_width_s,
        bin_changes.due,
        bin_changes.sent,
        bin_changes.completed,
        bin_changes.failed,
        bin_changes.tokens,
        bin_changes.in_flight_s,
        bin_changes.running_s,
        bin_changes.spread_tokens,
        sum(bin_changes.in_flight) over before as in_flight_before,
        sum(bin_changes.running) over before as running_before,
        sum(bin_changes.token_per_s) over before as token_per_s_before
    from bins
    left join bin_changes on bin_changes.run_id = bins.run_id and bin_changes.bin = bins.bin
    window before as (
        partition by bins.run_id order by bins.bin rows between unbounded preceding and 1 preceding
    )
)

select
    filled.run_id,
    runs.is_simulated,
    filled.bin * filled.bin_width_s as bin_s,
    filled.bin_width_s,
    coalesce(filled.due, 0)::bigint as due,
    coalesce(filled.sent, 0)::bigint as sent,
    coalesce(filled.completed, 0)::bigint as completed,
    coalesce(filled.failed, 0)::bigint as failed,
    coalesce(latencies.with_ttft, 0) as measured,
    latencies.ttft[1] as p50_ttft_s,
    macros.p99_of(latencies.ttft, latencies.with_ttft) as p99_ttft_s,
    latencies.tpot[1] as p50_tpot_s,
    macros.p99_of(latencies.tpot, latencies.with_tpot) as p99_tpot_s,
    coalesce(filled.in_flight_before, 0) + coalesce(filled.in_flight_s, 0) / filled.bin_width_s as mean_in_flight,
    coalesce(filled.running_before, 0) + coalesce(filled.running_s, 0) / filled.bin_width_s as mean_running,
    -- Sums of doubles leave something like 1e-13 where all streams have ended; abs is for -0.
    abs(round(greatest(
        coalesce(filled.token_per_s_before, 0)
        + (coalesce(filled.tokens, 0) + coalesce(filled.spread_tokens, 0)) / filled.bin_width_s,
        0
    ), 6)) as output_token_per_s
from filled
inner join staging.runs on runs.run_id = filled.run_id
left join latencies on latencies.run_id = filled.run_id and latencies.bin = filled.bin
