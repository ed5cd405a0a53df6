-- One row per run and time in which one of its servers was gone: three connections in a row were refused.
-- Kept per run.
-- group: runs
-- run_id      the replay
-- endpoint    base url
-- gone_at_s   when it was found to have gone, seconds since the run began
-- back_at_s   when a connection was made again, seconds since the run began; null: it did not come back
-- reason      what was seen
select
    each.run_id,
    each.said ->> '$.base_url' as endpoint,
    (each.said ->> '$.at_s')::double as gone_at_s,
    (each.said ->> '$.back_at_s')::double as back_at_s,
    each.said ->> '$.reason' as reason
from (
    select
        runs.run_id,
        unnest((runs.document -> '$.gone')::json[]) as said
    from raw.runs
) as each
