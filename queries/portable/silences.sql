-- One row per silence of a source that may hold an hour: a stretch without a request that is longer than its rhythm allows.
--
-- Longer than its rhythm allows is 5 ln(n) mean gaps, five times the longest of n gaps in a Poisson stream. Such a silence leaves a half hour by the clock without a
-- request, so that half hours are looked at and single gaps are not.
-- source_name  what the user calls the source
-- from_at      its last request before
-- until_at     its first request after
with stretches as (
    select
        source_name,
        date_trunc('minute', arrival_at) - interval '1' minute * (extract(minute from arrival_at) % 30) as half_hour,
        min(arrival_at) as first_at,
        max(arrival_at) as last_at,
        min(offset_s) as first_s,
        max(offset_s) as last_s,
        count(*) as requests
    from staging.arrivals
    where arrival_at is not null
    group by all
),

rhythms as (
    select
        source_name,
        sum(requests) - 1 as gaps,
        (max(last_s) - min(first_s)) / nullif(sum(requests) - 1, 0) as mean_gap_s
    from stretches
    group by source_name
),

quiet as (
    select
        source_name,
        lag(last_at) over (partition by source_name order by half_hour) as from_at,
        first_at as until_at,
        first_s - lag(last_s) over (partition by source_name order by half_hour) as silence_s
    from stretches
)

select
    quiet.source_name,
    quiet.from_at,
    quiet.until_at
from quiet
inner join rhythms on rhythms.source_name = quiet.source_name
where rhythms.gaps >= 10
    and quiet.silence_s >= 3600
    and quiet.silence_s >= 5e0 * ln(cast(rhythms.gaps as double)) * rhythms.mean_gap_s
