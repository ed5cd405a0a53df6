-- One row per run whose GPUs said what power they drew: watts, and output tokens per joule, in its steady part (marts.steady_windows).
--
-- The steady part is cut into twenty batches of equal length. Energy of a batch is the mean power of its seconds, summed over the addresses that
-- say it, times its length; a second belongs to the batch that holds its middle. A token counts when its chunk came, of every request,
-- failed ones too. The interval is that of a ratio of means of batches. A run has no row whose steady part is shorter than 20 s,
-- because power is said once a second, or has a batch in which nobody said it.
-- Kept per run.
-- group: server
-- run_id                the replay
-- from_s, until_s       the steady part, seconds since the run began
-- power_w               mean power of all GPUs together, W
-- output_token_per_s    tokens that came in it, per second
-- token_per_joule       output_token_per_s / power_w
-- low_token_per_joule, high_token_per_joule   ends of its 90 % interval
-- joule_per_token       its inverse
with spans as (
    select
        run_id,
        from_s,
        until_s,
        (until_s - from_s) / 20 as batch_s
    from marts.steady_windows
    where until_s - from_s >= 20
        and run_id in (select seconds.run_id from marts.server_seconds as seconds where seconds.power_w is not null)
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
            floor((seconds.second + 0.5e0 - spans.from_s) / spans.batch_s) as batch,
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
        floor((chunks.at_s - spans.from_s) / spans.batch_s) as batch,
        case when count(chunks.tokens) = count(*) then sum(chunks.tokens) end as tokens
    from staging.chunks
    inner join spans on spans.run_id = chunks.run_id
    group by
        chunks.run_id,
        batch
),

batches as (
    select
        spans.*,
        case when came.run_id is null then 0 else came.tokens end as tokens,
        powers.power_w * spans.batch_s as joules,
        sum(tokens) over whole / sum(joules) over whole as token_per_joule
    from powers
    inner join spans on spans.run_id = powers.run_id
    left join came on came.run_id = powers.run_id and came.batch = powers.batch
    where powers.batch between 0 and 19
    window whole as (partition by spans.run_id)
),

sums as (
    select
        run_id,
        any_value(from_s) as from_s,
        any_value(until_s) as until_s,
        sum(joules) as joules,
        sum(tokens) as tokens,
        any_value(token_per_joule) as token_per_joule,
        sqrt(sum(pow(tokens - token_per_joule * joules, 2)) * 20 / 19) / sum(joules) as standard_error
    from batches
    group by run_id
    having count(*) = 20
        and count(tokens) = 20
)

select
    run_id,
    from_s,
    until_s,
    joules / (until_s - from_s) as power_w,
    tokens / (until_s - from_s) as output_token_per_s,
    token_per_joule,
    token_per_joule - 1.645e0 * 20 / 19 * standard_error as low_token_per_joule,
    token_per_joule + 1.645e0 * 20 / 19 * standard_error as high_token_per_joule,
    1 / token_per_joule as joule_per_token
from sums
where tokens > 0
