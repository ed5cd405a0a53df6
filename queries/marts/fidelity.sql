-- One row per replay: the load that was planned and the load that was sent, in numbers.
-- marts.certificate says the same in words. Warm-up counts only for what is in flight.
--
-- The planned number in flight assumes that each request had been sent when it was due and had taken as long as it really took. Rates are
-- over the n - 1 gaps between n requests.
-- Kept per run.
-- group: runs
-- run_id                       the replay
-- sent                         requests sent
-- p50_lateness_s, p99_lateness_s, max_lateness_s   sent after due, less what a cap held back, seconds; p99 however few the samples,
--                              because the verdict takes it
-- planned_per_s                requests due per second of the plan; null below two requests
-- sent_per_s                   requests sent per second between the first and the last
-- tail_ratio                   rate of the last tenth of the plan's time over the mean rate: sessions that end make it thin
-- planned_peak_in_flight       most requests in flight, had each gone out when it was due
-- planned_mean_in_flight       mean of the same
-- peak_in_flight               most requests in flight
-- mean_in_flight               mean of the same, over the time from the first to the last
-- held                         requests that waited behind a cap
-- compared_prompts             requests for which the server reported prompt tokens
-- input_tokens_asked           their prompts as planned, tokens
-- input_tokens_got             the same as the server counts, tokens
-- inputs_short, inputs_long    requests whose prompt the server counts shorter, or longer
-- compared_answers             requests for which the received tokens are known
-- output_tokens_asked          their answers as planned, tokens
-- output_tokens_got            the same as received, tokens
-- outputs_short, outputs_long  requests with fewer, or more, tokens than asked for
-- outputs_clamped              of the short ones, those that the server ended by length: it has a limit of its own
-- planned_reuse_ratio          share of prompt tokens that an earlier prompt of the plan had; null without blocks
-- cached_ratio                 share of prompt tokens that the server says it had; null where it does not say
-- server_timed                 successful requests for which the server reported its own times
-- ttft_over_server_s           median of TTFT less the server's queue and TTFT: network and HTTP, seconds
-- server_ttft_ratio            median of the server's queue and TTFT over ours, less 1
-- server_tpot_ratio            median of the server's time per token over ours, less 1
with measured as (
    select
        *,
        min(due_s) over of_run as first_due_s,
        max(due_s) over of_run as last_due_s,
        server_queue_s + server_ttft_s as server_first_s
    from staging.requests
    where not is_warm_up
    window of_run as (partition by run_id)
),

counts as (
    select
        run_id,
        count(sent_s) as sent,
        quantile_cont(lateness_s, [0.5, 0.99]) as lateness,
        max(lateness_s) as max_lateness_s,
        (count(*) - 1) / nullif(max(due_s) - min(due_s), 0) as planned_per_s,
        (count(sent_s) - 1) / nullif(max(sent_s) - min(sent_s), 0) as sent_per_s,
        count(*) filter (where due_s > last_due_s - (last_due_s - first_due_s) / 10) * 10 / count(*) as tail_ratio,
        count(*) filter (where held_s > 0) as held,
        count(input_tokens_reported) as compared_prompts,
        sum(input_tokens) filter (where input_tokens_reported is not null) as input_tokens_asked,
        sum(input_tokens_reported) as input_tokens_got,
        count(*) filter (where input_tokens_reported < input_tokens) as inputs_short,
        count(*) filter (where input_tokens_reported > input_tokens) as inputs_long,
        count(received_tokens) as compared_answers,
        sum(output_tokens) filter (where received_tokens is not null) as output_tokens_asked,
        sum(received_tokens) as output_tokens_got,
        count(*) filter (where received_tokens < output_tokens) as outputs_short,
        count(*) filter (where received_tokens > output_tokens) as outputs_long,
        count(*) filter (where received_tokens < output_tokens and finish_reason = 'length') as outputs_clamped,
        sum(shared_tokens) / nullif(sum(input_tokens) filter (where shared_tokens is not null), 0) as planned_reuse_ratio,
        sum(cached_tokens) / nullif(sum(coalesce(input_tokens_reported, input_tokens)) filter (where cached_tokens is not null), 0)
            as cached_ratio,
        count(coalesce(server_first_s, server_tpot_s)) filter (where is_success) as server_timed,
        median(ttft_s - server_first_s) filter (where is_success) as ttft_over_server_s,
        median(server_first_s / nullif(ttft_s, 0) - 1) filter (where is_success) as server_ttft_ratio,
        median(server_tpot_s / nullif(tpot_s, 0) - 1) filter (where is_success) as server_tpot_ratio
    from measured
    group by run_id
),

-- Each request that was sent comes and goes twice: as planned and as it was.
changes as (
    select
        run_id,
        unnest([due_s, due_s + coalesce(done_s, last_token_s, sent_s) - sent_s, sent_s, coalesce(done_s, last_token_s, sent_s)]) as at_s,
        unnest([1, -1, 0, 0]) as planned,
        unnest([0, 0, 1, -1]) as actual
    from staging.requests
    where is_sent
),

levels as (
    select
        run_id,
        at_s,
        planned,
        actual,
        sum(planned) over in_time as planned_in_flight,
        sum(actual) over in_time as in_flight
    from changes
    -- A request that ends at an instant makes room for one that starts at it.
    window in_time as (partition by run_id order by at_s, planned + actual rows unbounded preceding)
),

in_flight as (
    select
        run_id,
        max(planned_in_flight) as planned_peak_in_flight,
        -sum(planned * at_s) / nullif(
            max(at_s) filter (where planned <> 0) - min(at_s) filter (where planned <> 0), 0
        ) as planned_mean_in_flight,
        max(in_flight) as peak_in_flight,
        -sum(actual * at_s) / nullif(
            max(at_s) filter (where actual <> 0) - min(at_s) filter (where actual <> 0), 0
        ) as mean_in_flight
    from levels
    group by run_id
)

select
    counts.run_id,
    counts.sent,
    counts.lateness[1] as p50_lateness_s,
    counts.lateness[2] as p99_lateness_s,
    counts.max_lateness_s,
    counts.planned_per_s,
    counts.sent_per_s,
    counts.tail_ratio,
    in_flight.planned_peak_in_flight::bigint as planned_peak_in_flight,
    in_flight.planned_mean_in_flight,
    in_flight.peak_in_flight::bigint as peak_in_flight,
    in_flight.mean_in_flight,
    counts.held,
    counts.compared_prompts,
    counts.input_tokens_asked::bigint as input_tokens_asked,
    counts.input_tokens_got::bigint as input_tokens_got,
    counts.inputs_short,
    counts.inputs_long,
    counts.compared_answers,
    counts.output_tokens_asked::bigint as output_tokens_asked,
    counts.output_tokens_got::bigint as output_tokens_got,
    counts.outputs_short,
    counts.outputs_long,
    counts.outputs_clamped,
    counts.planned_reuse_ratio,
    counts.cached_ratio,
    counts.server_timed,
    counts.ttft_over_server_s,
    counts.server_ttft_ratio,
    counts.server_tpot_ratio
from counts
left join in_flight on in_flight.run_id = counts.run_id
