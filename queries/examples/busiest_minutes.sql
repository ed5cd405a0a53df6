-- Which are the ten busiest minutes?
--
-- times_the_mean says how much busier the minute is than the mean of its trace. A server that is sized for the mean queues in these
-- minutes. The last minute of a trace is counted over the seconds that the trace has of it (covered_s); less than ten are too few for a rate.
-- group: traces
with minutes as (
    select
        arrivals.source_name,
        arrivals.minute,
        arrivals.requests,
        arrivals.input_tokens,
        arrivals.output_tokens,
        sources.mean_rate_per_s as trace_rate_per_s,
        least(60, sources.duration_s - 60 * arrivals.minute) as covered_s
    from marts.arrival_minutes as arrivals
    inner join marts.sources using (source_name)
)

select
    source_name,
    minute,
    requests,
    case when minute = 0 or covered_s >= 10 then requests / nullif(covered_s, 0) / trace_rate_per_s end as times_the_mean,
    case when minute = 0 or covered_s >= 10 then requests / nullif(covered_s, 0) end as mean_rate_per_s,
    covered_s,
    input_tokens,
    output_tokens
from minutes
order by
    requests desc,
    source_name,
    minute
limit 10
