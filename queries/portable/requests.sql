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
        sources.model
    from portable.bins
    inner join marts.service_sources as sources on sources.service = bins.service
        and sources.week = bins.week
),

chosen as (
    select
        wanted.service,
        wanted.week,
        wanted.place,
        wanted.source_name,
        wanted.hour_start,
        wanted.bin_start,
        arrivals.arrival_at,
        arrivals.input_tokens,
        arrivals.output_tokens,
        coalesce(nullif(arrivals.class, ''), arrivals.model, '') as class,
        not coalesce(arrivals.is_failed, false) and arrivals.output_tokens > 0 as is_measured,
        row_number() over (
            partition by wanted.service, wanted.place, arrivals.arrival_at, arrivals.input_tokens, arrivals.output_tokens order by arrivals.seq
        ) as nth_alike
    from staging.arrivals
    inner join wanted on wanted.source_name = arrivals.source_name
        and wanted.bin_start = date_trunc('minute', arrivals.arrival_at) - interval '1' minute * (extract(minute from arrivals.arrival_at) % 5)
    where (wanted.class is null or wanted.class = arrivals.class)
        and (wanted.model is null or wanted.model = arrivals.model)
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
    row_number() over (partition by service, arrival_at, input_tokens, output_tokens, nth_alike order by place) > 1 as is_copy
from chosen
