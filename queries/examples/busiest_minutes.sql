-- Which are the ten busiest minutes?
--
-- times_the_mean says how much busier the minute is than the mean of its trace. A server that is sized for the mean queues in these
-- minutes.
-- group: traces
select
    minutes.source_name,
    minutes.minute,
    minutes.requests,
    minutes.requests / 60 as mean_rate_per_s,
    minutes.requests / 60 / sources.mean_rate_per_s as times_the_mean,
    minutes.input_tokens,
    minutes.output_tokens
from marts.arrival_minutes as minutes
inner join marts.sources using (source_name)
order by
    minutes.requests desc,
    minutes.source_name,
    minutes.minute
limit 10
