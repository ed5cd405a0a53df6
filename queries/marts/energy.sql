-- One row per run whose GPUs said what power they drew: watts, and output tokens per joule, while the run was steady.
--
-- The rule: the time from the first request sent to the last, warm-up left out, is cut into twenty batches of equal length that do not overlap. Of the
-- means of tokens per second of these batches as many are left out at the beginning, ten at most, as make the squared error of the mean of the rest
-- smallest: their sum of squared deviations over the square of their number (MSER, White 1997). What is left is the steady part. It has no row if
-- the best is ten, because then the run never settles, or if it is shorter than 20 s: power is said once a second.
--
-- Energy of a batch is the mean power of its seconds, summed over the addresses that say it, times its length; a second belongs to the batch that
-- holds its middle. A token counts when its chunk came, whoever's request it was of and whether it failed. The interval is that of a ratio of means of batches.
-- Kept per run.
-- group: server
-- run_id                the replay
-- from_s, until_s       the steady part, seconds since the run began
-- batches               of the twenty, in it
-- power_w               mean power of all GPUs together, W
-- output_token_per_s    tokens that came in it, per second
-- token_per_joule       output_token_per_s / power_w
-- low_token_per_joule, high_token_per_joule   ends of its 90 % interval
-- joule_per_token       its inverse
with spans as (
    select
        run_id,
        min(sent_s) as first_s,
        (max(sent_s) - min(sent_s)) / 20 as batch_s
    from staging.requests
    where is_sent
        and not is_warm_up
        and run_id in (select seconds.run_id from marts.server_seconds as seconds where seconds.power_w is not null)
    group by run_id
    having max(sent_s) - min(sent_s) >= 20
),

powers as (
    select
        run_id,
        batch,
        sum(power_w) as power_w
    from (
        select
            seconds.run_id,
            seconds.url,
            floor((seconds.second + 0.5e0 - spans.first_s) / spans.batch_s) as batch,
            avg(seconds.power_w) as power_w
        from marts.server_seconds as seconds
        inner join spans on spans.run_id = seconds.run_id
        where seconds.power_w is not null
        group by all
    ) as addresses
    group by
        run_id,
        batch
),

came as (
    select
        chunks.run_id,
        floor((chunks.at_s - spans.first_s) / spans.batch_s) as batch,
        case when count(chunks.tokens) = count(*) then sum(chunks.tokens) end as tokens
    from staging.chunks
    inner join spans on spans.run_id = chunks.run_id
    group by
        chunks.run_id,
        batch
),

batches as (
    select
        powers.run_id,
        powers.batch,
        spans.first_s,
        spans.batch_s,
        case when came.run_id is null then 0 else came.tokens end as tokens,
        powers.power_w * spans.batch_s as joules
    from powers
    inner join spans on spans.run_id = powers.run_id
    left join came on came.run_id = powers.run_id and came.batch = powers.batch
    where powers.batch between 0 and 19
),

-- What is left where all before a batch is left out.
rests as (
    select
        run_id,
        batch,
        var_pop(tokens) over rest / count(*) over rest as squared_error,
        count(*) over (partition by run_id) as batches,
        count(tokens) over (partition by run_id) as counted
    from batches
    window rest as (partition by run_id order by batch rows between current row and unbounded following)
),

starts as (
    select
        run_id,
        arg_min(batch, (squared_error, batch)) as batch
    from rests
    where batch <= 10
        and batches = 20
        and counted = 20
    group by run_id
),

steady as (
    select
        batches.*,
        starts.batch as start,
        sum(tokens) over whole / sum(joules) over whole as token_per_joule
    from batches
    inner join starts on starts.run_id = batches.run_id and batches.batch >= starts.batch and starts.batch < 10
    window whole as (partition by batches.run_id)
),

sums as (
    select
        run_id,
        any_value(first_s + start * batch_s) as from_s,
        any_value(first_s + 20 * batch_s) as until_s,
        any_value(batch_s) as batch_s,
        count(*) as batches,
        sum(joules) as joules,
        sum(tokens) as tokens,
        any_value(token_per_joule) as token_per_joule,
        sqrt(sum(pow(tokens - token_per_joule * joules, 2)) * count(*) / (count(*) - 1)) / sum(joules) as standard_error
    from steady
    group by run_id
)

select
    run_id,
    from_s,
    until_s,
    batches,
    joules / (batches * batch_s) as power_w,
    tokens / (batches * batch_s) as output_token_per_s,
    token_per_joule,
    token_per_joule - 1.645e0 * (1 + 1 / (batches - 1)) * standard_error as low_token_per_joule,
    token_per_joule + 1.645e0 * (1 + 1 / (batches - 1)) * standard_error as high_token_per_joule,
    1 / token_per_joule as joule_per_token
from sums
where tokens > 0
