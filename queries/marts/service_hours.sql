-- One row per service and hour of a week with a report: its demand, and the replicas that it needed.
--
-- Replicas are whole ones for the busiest five minutes of the hour, by the capacity of a fleet at the hour's own lengths. An hour without
-- data is missing: its figures are null, and never 0.
-- Published per week of a service.
-- group: money
-- service                 the service
-- week                    ISO week in the service's zone: '2026-W47'
-- hour_start              first instant of the hour
-- local_hour              by the clock of the service's zone, with its offset: '2026-10-25 02:00+02:00'
-- is_missing              no source of the service covers it
-- requests                that arrived in it; failed and empty ones count
-- rate_per_s              requests per second, mean of the hour
-- peak_rate_per_s         of its busiest five minutes by the clock, requests per second
-- input_tokens            of prompts, tokens
-- output_tokens           of answers, tokens
-- p50_input_tokens        median prompt of the requests that did not fail and have an answer, tokens
-- p99_input_tokens        99th percentile; null below 100 requests
-- p50_output_tokens       median answer of the same requests, tokens
-- p99_output_tokens       99th percentile; null below 100 requests
-- needed_replicas         whole replicas for peak_rate_per_s, at the centre of the capacity's interval; null: no capacity is known
-- low_needed_replicas     at the high end of the capacity's 90 % interval
-- high_needed_replicas    at its low end: a measured capacity is judged by this one
-- paid_replicas           paid for in that hour
-- replica_rate_per_s      what one replica takes of the hour's shape within the SLO, in a fleet as large as is paid for at the week's end, requests per second
-- low_replica_rate_per_s  low end of its 90 % interval
-- high_replica_rate_per_s  high end
-- correction_ratio        capacity at the hour's shape over that at the shape that was measured; null: nothing was measured
-- burst_ratio             variance of the counts of its five minutes over their mean: 1 for random arrivals
-- cost_usd                of the paid replicas, US dollars; null: no price is known
-- paid_rate_ratio         what one of the paid replicas takes over replica_rate_per_s: 1 unless the number of replicas changed since
select
    service,
    week,
    unnest(hours, recursive := true)
from staging.service_weeks
