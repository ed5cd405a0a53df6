-- At which hour of the day do requests come?
--
-- One row per trace and hour (UTC). requests_ratio is the share of the trace's requests that came in that hour; over the hours of a
-- trace it adds up to 1. A trace without dates counts hours from its first request.
-- group: traces
select
    source_name,
    hour,
    requests,
    requests / sum(requests) over (partition by source_name) as requests_ratio,
    mean_rate_per_s,
    input_tokens / requests as mean_input_tokens
from marts.arrival_hours
where requests > 0
order by
    source_name,
    hour
