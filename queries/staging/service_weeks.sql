-- One row per service and week with a report: what its page shows, as one document and in parts.
-- group: money
-- service       the service
-- week          ISO week in the service's zone: '2026-W47'
-- file_sha256   fingerprint of the service file that it was made with
-- sums          headline figures of the week
-- hours         hours of the week
-- document      the report whole
select
    service,
    week,
    file_sha256,
    from_json(document -> '$.sums', '{
        "hours": "BIGINT", "missing_hours": "BIGINT", "requests": "BIGINT", "input_tokens": "BIGINT", "output_tokens": "BIGINT",
        "busiest_hour_start": "TIMESTAMPTZ", "peak_rate_per_s": "DOUBLE", "headroom_ratio": "DOUBLE", "low_headroom_ratio": "DOUBLE",
        "high_headroom_ratio": "DOUBLE", "gpu_hours_needed": "DOUBLE", "gpu_hours_paid": "DOUBLE", "gpu_hours_paid_covered": "DOUBLE",
        "cost_usd": "DOUBLE", "accepted_output_tokens": "DOUBLE", "usd_per_million_accepted": "DOUBLE",
        "low_usd_per_million_accepted": "DOUBLE", "high_usd_per_million_accepted": "DOUBLE", "within_slo_ratio": "DOUBLE",
        "low_within_slo_ratio": "DOUBLE", "high_within_slo_ratio": "DOUBLE", "is_accepted_predicted": "BOOLEAN",
        "tpot_over_predicted_ratio": "DOUBLE", "is_met": "BOOLEAN", "broken_hours": "BIGINT", "sentence": "VARCHAR"
    }') as sums,
    from_json(document -> '$.hours', '[{
        "hour_start": "TIMESTAMPTZ", "local_hour": "VARCHAR", "is_missing": "BOOLEAN", "requests": "BIGINT", "rate_per_s": "DOUBLE",
        "peak_rate_per_s": "DOUBLE", "input_tokens": "BIGINT", "output_tokens": "BIGINT", "p50_input_tokens": "DOUBLE",
        "p99_input_tokens": "DOUBLE", "p50_output_tokens": "DOUBLE", "p99_output_tokens": "DOUBLE", "needed_replicas": "INTEGER",
        "low_needed_replicas": "INTEGER", "high_needed_replicas": "INTEGER", "paid_replicas": "INTEGER", "replica_rate_per_s": "DOUBLE",
        "low_replica_rate_per_s": "DOUBLE", "high_replica_rate_per_s": "DOUBLE", "correction_ratio": "DOUBLE", "burst_ratio": "DOUBLE",
        "cost_usd": "DOUBLE", "paid_rate_ratio": "DOUBLE"
    }]') as hours,
    document
from raw.service_weeks
