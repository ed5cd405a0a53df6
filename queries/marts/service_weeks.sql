-- One row per service and week with a report: its headline figures.
--
-- Sums and means leave out missing hours. Paid hours and cost are for the whole week.
-- Published per week of a service.
-- group: money
-- service                   the service
-- week                      ISO week in the service's zone: '2026-W47'
-- file_sha256               fingerprint of the service file that the report was made with
-- hours                     hours of the week: 167, 168 or 169
-- missing_hours             of these, without data
-- requests                  that arrived; failed and empty ones count
-- input_tokens              of prompts, tokens
-- output_tokens             of answers, tokens
-- busiest_hour_start        the hour that needs most replicas; of several the one with the busiest five minutes
-- peak_rate_per_s           its busiest five minutes, requests per second
-- headroom_ratio            paid capacity at the centre of its interval over peak_rate_per_s, minus 1
-- low_headroom_ratio        at the low end of the capacity's 90 % interval: a measured capacity is judged by this one
-- high_headroom_ratio       at the high end
-- gpu_hours_needed          of the covered hours, at the centre
-- gpu_hours_paid            of the whole week
-- gpu_hours_paid_covered    of the covered hours
-- cost_usd                  of the paid GPU-hours, US dollars; null: no price is known
-- accepted_output_tokens    output tokens of requests within the SLO
-- usd_per_million_accepted  cost of a million of them, US dollars; null: no price, or none
-- low_usd_per_million_accepted   low end of its 90 % interval
-- high_usd_per_million_accepted  high end
-- within_slo_ratio          share of requests within the SLO
-- low_within_slo_ratio      low end of its 90 % interval
-- high_within_slo_ratio     high end
-- is_accepted_predicted     no latencies from production: accepted is what the capacity would allow
-- tpot_over_predicted_ratio  time per token in production over the prediction; null: not measured
-- is_met                    the SLO held in production in every hour; null: not known
-- broken_hours              hours in which production broke the SLO
-- sentence                  the decision, as the page says it
-- time_zone                 of the service: 'Europe/Berlin'
-- gpus_per_replica          GPUs of one replica
-- usd_per_gpu_hour          price that the costs rest on, US dollars; null: none is known
-- allowed_ratio             share of requests that the SLO lets miss
-- basis_replica_rate_per_s  what one replica takes of the busiest hour's shape, requests per second: marts.service_curves is of that shape
select
    service,
    week,
    file_sha256,
    unnest(sums),
    document ->> '$.time_zone' as time_zone,
    (document ->> '$.deployment.gpus_per_replica')::bigint as gpus_per_replica,
    (document ->> '$.price.usd_per_gpu_hour')::double as usd_per_gpu_hour,
    coalesce(document ->> '$.slo.allowed_ratio', document ->> '$.basis.allowed_ratio')::double as allowed_ratio, -- of earlier versions only the second
    (document ->> '$.basis.replica_rate_per_s')::double as basis_replica_rate_per_s
from staging.service_weeks
