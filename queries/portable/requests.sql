-- One row per request of a service's traffic in a week with a report.
--
-- What several sources have in common, by instant and lengths, counts in the first of them.
-- service        the service
-- week           ISO week in the service's zone: '2026-W47'
-- source_name    what the user calls the source
-- arrival_at     when it arrived
-- hour_start     first instant of its hour
-- bin_start      first instant of its five minutes by the clock
-- input_tokens   prompt, tokens
-- output_tokens  answer, tokens
-- class          as the page groups: its class, else the model that it is for, else empty
-- is_measured    it did not fail and has an answer, so that its lengths count
-- is_copy        an earlier source of the service has it too: it is not counted here
with wanted as (
    select
        bins.service,
        bins.week,
        bins.hour_start,
        bins.bin_start,
        sources.place,
        sources.source_name,
        sources.class,
        sources.model,
        count(*) over (partition by bins.service, bins.bin_start) > 1 as is_shared -- else there can be no copies, and nothing is to be sorted
    from portable.bins
    inner join marts.service_sources as sources on sources.service = bins.service
        and sources.week = bins.week
    inner join portable.reaches on reaches.source_name = sources.source_name
        and reaches.first_at < bins.bin_start + interval '5' minute
        and reaches.last_at >= bins.bin_start
),

chosen as (
    select
        wanted.service,
        wanted.week,
        wanted.place,
        wanted.source_name,
        wanted.hour_start,
        wanted.bin_start,
        wanted.is_shared,
        arrivals.seq,
        arrivals.arrival_at,
        arrivals.input_tokens,
        arrivals.output_tokens,
        coalesce(nullif(arrivals.class, ''), arrivals.model, '') as class,
        not coalesce(arrivals.is_failed, false) and arrivals.output_tokens > 0 as is_measured
    from staging.arrivals
    inner join wanted on wanted.source_name = arrivals.source_name
        and wanted.bin_start = date_trunc('minute', arrivals.arrival_at) - interval '1' minute * (extract(minute from arrivals.arrival_at) % 5)
    where (wanted.class is null or wanted.class = arrivals.class)
        and (wanted.model is null or wanted.model = arrivals.model)
),

shared as (
    select
        *,
        row_number() over (partition by service, place, arrival_at, input_tokens, output_tokens order by seq) as nth_alike
    from chosen
    where is_shared
)

select
    service,
    week,
    source_name,
    arrival_at,
    hour_start,
    bin_start,
    input_tokens,
    output_tokens,
    class,
    is_measured,
    false as is_copy
from chosen
where not is_shared
union all
select
    service,
    week,
    source_name,
    arrival_at,
    hour_start,
    bin_start,
    input_tokens,
    output_tokens,
    class,
    is_measured,
    row_number() over (partition by service, arrival_at, input_tokens, output_tokens, nth_alike order by place) > 1 as is_copy
from shared
