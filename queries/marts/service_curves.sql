-- One row per service, week with a report, and load: the share of requests that miss the SLO where one replica gets so many.
--
-- It is of the busiest hour's lengths (marts.service_weeks.basis_replica_rate_per_s). An hour of other lengths has the load at which the same
-- share of its own capacity is used.
-- Published per week of a service.
-- group: money
-- service            the service
-- week               ISO week in the service's zone: '2026-W47'
-- rate_per_s         requests per second that one replica gets
-- missed_ratio       share of requests that miss the SLO, at the centre of its interval
-- low_missed_ratio   low end of its 90 % interval
-- high_missed_ratio  high end
select
    service,
    week,
    unnest(
        from_json(document -> '$.basis.curve', '[{
            "rate_per_s": "DOUBLE", "missed_ratio": "DOUBLE", "low_missed_ratio": "DOUBLE", "high_missed_ratio": "DOUBLE"
        }]'),
        recursive := true
    )
from staging.service_weeks
