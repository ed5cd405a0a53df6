-- One row per run and level: does it climb through the run? A queue that climbs ends in a latency spike.
--
-- A straight line is fitted through the level, until the last request is sent, from twice the median answer time after the first request: or from
-- when the longest answer of the first quarter has been made, where that is later, since until then long answers pile up in any server. The
-- level is the requests in flight in the bins of marts.timeline, or the engine's queue each second. Neighbouring samples are alike, so the
-- interval of the slope counts n (1 - rho) / (1 + rho) samples, where rho is the correlation of a residual with the next. Fewer than ten
-- samples have no row. A closed loop keeps the requests in flight constant, so only its queue is fitted. 'sent' is what to set a growth
-- against: where it grows as much, more is in flight because more comes.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- level                'in flight', 'queue', or 'sent': requests sent per second
-- samples              bins or seconds
-- mean                 of the level, requests; of 'sent' requests per second
-- slope_per_s          of the level, per second
-- low_slope_per_s      low end of its 90 % interval
-- high_slope_per_s     high end of it
-- growth               slope times the time looked at, in the unit of the mean
-- growth_ratio         the same over the mean; null where that is 0
with spans as (
    select
        requests.run_id,
        any_value(runs.mode) as mode,
        min(requests.sent_s) + greatest(
            2 * median(requests.e2e_s),
            coalesce(max(requests.last_token_s - requests.first_token_s) filter (where requests.is_early), 0)
        ) as from_s,
        max(requests.sent_s) as until_s
    from (
        select
            *,
            sent_s <= 0.75e0 * min(sent_s) over (partition by run_id) + 0.25e0 * max(sent_s) over (partition by run_id) as is_early
        from staging.requests
        where is_sent
    ) as requests
    inner join staging.runs on runs.run_id = requests.run_id
    group by requests.run_id
),

levels as (
    select
        timeline.run_id,
        unnest(['in flight', 'sent']) as level,
        timeline.bin_s + timeline.bin_width_s / 2 as at_s,
        unnest([timeline.mean_in_flight, timeline.sent / timeline.bin_width_s]) as height
    from marts.timeline
    inner join spans on spans.run_id = timeline.run_id
    where spans.mode <> 'closed'
        and timeline.bin_s >= spans.from_s
        and timeline.bin_s + timeline.bin_width_s <= spans.until_s
    union all
    select
        seconds.run_id,
        'queue',
        seconds.second + 0.5e0,
        sum(seconds.queue_depth)
    from marts.server_seconds as seconds
    inner join spans on spans.run_id = seconds.run_id
    where seconds.queue_depth is not null
        and seconds.second >= spans.from_s
        and seconds.second + 1 <= spans.until_s
    group by
        seconds.run_id,
        seconds.second
),

lines as (
    select
        run_id,
        level,
        count(*) as samples,
        avg(height) as mean,
        max(at_s) - min(at_s) as length_s,
        regr_slope(height, at_s) as slope_per_s,
        regr_intercept(height, at_s) as intercept,
        var_pop(at_s) * count(*) as spread
    from levels
    group by
        run_id,
        level
    having count(*) >= 10
),

residuals as (
    select
        levels.run_id,
        levels.level,
        levels.height - lines.intercept - lines.slope_per_s * levels.at_s as residual,
        lag(residual) over (partition by levels.run_id, levels.level order by levels.at_s) as residual_before
    from levels
    inner join lines on lines.run_id = levels.run_id and lines.level = levels.level
),

errors as (
    select
        run_id,
        level,
        sum(residual * residual) as squares,
        least(greatest(coalesce(sum(residual * residual_before) / nullif(sum(residual * residual), 0), 0), 0), 0.95e0) as rho
    from residuals
    group by
        run_id,
        level
)

select
    lines.run_id,
    lines.level,
    lines.samples,
    lines.mean,
    lines.slope_per_s,
    lines.slope_per_s - 1.81e0 * error_per_s as low_slope_per_s,
    lines.slope_per_s + 1.81e0 * error_per_s as high_slope_per_s,
    lines.slope_per_s * lines.length_s as growth,
    lines.slope_per_s * lines.length_s / nullif(lines.mean, 0) as growth_ratio
from lines
inner join (
    select
        errors.run_id,
        errors.level,
        sqrt(errors.squares / (lines.samples - 2) / lines.spread * (1 + errors.rho) / (1 - errors.rho)) as error_per_s
    from errors
    inner join lines on lines.run_id = errors.run_id and lines.level = errors.level
) as spreads on spreads.run_id = lines.run_id and spreads.level = lines.level
