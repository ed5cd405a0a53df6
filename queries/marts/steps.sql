-- One row per experiment and value of the setting that it varies (a level): the result of the level over its repeats. Runs that are invalid,
-- failed, or were stopped before their end are counted and otherwise left out, and so is warm-up.
--
-- Percentiles are of the requests of all repeats together; throughput is the mean over the repeats, with
-- the least and the most of them. The knee is the first level at which throughput added per load added, since
-- the level before, falls below half of what it was from nothing to the first level: beyond it more load brings mostly
-- waiting. It needs numeric values and at least three levels with a valid run; throughput is in output tokens.
-- group: runs
-- series_id               the experiment
-- series_name             what the user called it
-- variable                the setting that it varies
-- series_row              0-based place of the level in the experiment
-- value                   of the setting, as written
-- load                    the same as a number; null if it is not a number
-- runs                    runs of the level
-- stopped_runs            of these, interrupted, aborted or killed: their status is not 'done'
-- valid_runs              of these, done, valid and not failed: the rest of the row is of them
-- requests                requests planned
-- completed               of these, successful
-- sent_per_s              requests sent per second, mean over repeats; null below two requests
-- request_per_s           completed requests per second, mean over repeats
-- output_token_per_s      received tokens per second, mean over repeats
-- least_output_token_per_s, most_output_token_per_s   the same, of the lowest and the highest repeat
-- mean_in_flight          requests in flight, mean over repeats
-- cached_ratio            prompt tokens that the server says it had, of all of these; null where it does not say
-- p50_ttft_from_due_s, p99_ttft_from_due_s              time to first token from due, seconds; p99 null below 100 samples
-- least_p99_ttft_from_due_s, most_p99_ttft_from_due_s  p99 of the lowest and the highest repeat
-- p50_tpot_s, p99_tpot_s  time per token after the first, seconds
-- p50_e2e_from_due_s, p99_e2e_from_due_s                whole answer from due, seconds
-- accepted_ratio          requests within every objective of the SLO, of all that were tried, mean over repeats; null without an SLO
-- goodput_per_s           accepted requests per second, mean over repeats; null without an SLO
-- cost_per_million_accepted_tokens   mean over repeats; null unless the SLO is met in each of them (see marts.goodput)
-- added_ratio             throughput added per load added since the level before, over that of the first level
-- is_knee                 this is the knee
with steps as (
    select
        runs.*,
        settings.series_row,
        try_cast(settings.value as double) as load,
        fidelity.mean_in_flight,
        fidelity.sent_per_s,
        goodput.outcome,
        goodput.accepted_ratio,
        goodput.goodput_per_s,
        goodput.cost_per_million_accepted_tokens,
        coalesce(settings.is_complete, false) as is_complete,
        coalesce(settings.is_complete, false) and runs.is_valid and not runs.has_failed as counts
    from staging.runs as settings
    inner join marts.runs on runs.run_id = settings.run_id
    left join marts.fidelity on fidelity.run_id = settings.run_id
    left join marts.goodput on goodput.run_id = settings.run_id
    where settings.series_id is not null
),

per_level as (
    select
        series_id,
        value,
        any_value(series_name) as series_name,
        any_value(variable) as variable,
        min(series_row) as series_row,
        any_value(load) as load,
        count(*) as runs,
        count(*) filter (where not is_complete) as stopped_runs,
        count(*) filter (where counts) as valid_runs,
        sum(planned) filter (where counts) as requests,
        avg(sent_per_s) filter (where counts) as sent_per_s,
        avg(request_per_s) filter (where counts) as request_per_s,
        avg(output_token_per_s) filter (where counts) as output_token_per_s,
        min(output_token_per_s) filter (where counts) as least_output_token_per_s,
        max(output_token_per_s) filter (where counts) as most_output_token_per_s,
        avg(mean_in_flight) filter (where counts) as mean_in_flight,
        avg(accepted_ratio) filter (where counts) as accepted_ratio,
        avg(goodput_per_s) filter (where counts) as goodput_per_s,
        case when bool_and(outcome = 'met') filter (where counts) then avg(cost_per_million_accepted_tokens) filter (where counts) end
            as cost_per_million_accepted_tokens,
        min(p99_ttft_from_due_s) filter (where counts) as least_p99_ttft_from_due_s,
        max(p99_ttft_from_due_s) filter (where counts) as most_p99_ttft_from_due_s
    from steps
    group by
        series_id,
        value
),

pooled as (
    select
        steps.series_id,
        steps.value,
        count(*) as completed,
        count(requests.tpot_s) as with_tpot,
        sum(requests.cached_tokens) / nullif(
            sum(coalesce(requests.input_tokens_reported, requests.input_tokens)) filter (where requests.cached_tokens is not null), 0
        ) as cached_ratio,
        quantile_cont(requests.ttft_from_due_s, [0.5, 0.99]) as ttft,
        quantile_cont(requests.tpot_s, [0.5, 0.99]) as tpot,
        quantile_cont(requests.e2e_from_due_s, [0.5, 0.99]) as e2e
    from steps
    inner join staging.requests on requests.run_id = steps.run_id
    where steps.counts
        and requests.is_success
        and not requests.is_warm_up
    group by
        steps.series_id,
        steps.value
),

slopes as (
    select
        series_id,
        value,
        load,
        (output_token_per_s - lag(output_token_per_s, 1, 0) over in_order)
            / nullif(load - lag(load, 1, 0) over in_order, 0) as added,
        first_value(output_token_per_s / nullif(load, 0)) over in_order as first_added,
        count(*) over (partition by series_id) as levels
    from per_level
    where load > 0
        and valid_runs > 0
    window in_order as (partition by series_id order by load)
),

knees as (
    select
        series_id,
        min(load) as load
    from slopes
    where levels >= 3
        and added < first_added / 2
    group by series_id
)

select
    per_level.series_id,
    per_level.series_name,
    per_level.variable,
    per_level.series_row,
    per_level.value,
    per_level.load,
    per_level.runs,
    per_level.stopped_runs,
    per_level.valid_runs,
    per_level.requests::bigint as requests,
    pooled.completed,
    per_level.sent_per_s,
    per_level.request_per_s,
    per_level.output_token_per_s,
    per_level.least_output_token_per_s,
    per_level.most_output_token_per_s,
    per_level.mean_in_flight,
    pooled.cached_ratio,
    pooled.ttft[1] as p50_ttft_from_due_s,
    macros.p99_of(pooled.ttft, pooled.completed) as p99_ttft_from_due_s,
    per_level.least_p99_ttft_from_due_s,
    per_level.most_p99_ttft_from_due_s,
    pooled.tpot[1] as p50_tpot_s,
    macros.p99_of(pooled.tpot, pooled.with_tpot) as p99_tpot_s,
    pooled.e2e[1] as p50_e2e_from_due_s,
    macros.p99_of(pooled.e2e, pooled.completed) as p99_e2e_from_due_s,
    per_level.accepted_ratio,
    per_level.goodput_per_s,
    per_level.cost_per_million_accepted_tokens,
    slopes.added / slopes.first_added as added_ratio,
    coalesce(per_level.load = knees.load, false) as is_knee
from per_level
left join pooled on pooled.series_id = per_level.series_id and pooled.value = per_level.value
left join slopes on slopes.series_id = per_level.series_id and slopes.value = per_level.value
left join knees on knees.series_id = per_level.series_id
