-- One row per sampled series and instant: the servers' /metrics and the client's own state.
-- group: server
-- run_id   the replay
-- at_s     when the answer was there, seconds since the run began; 0 is the look before the first request
-- origin   'server' or 'client'
-- url      address of the exposition; '' where a run does not say, and for the client
-- name     as exposed
-- labels   'k="v",...' sorted by key; '' for none
-- value    of the series at that instant
select
    run_id,
    at_s,
    origin,
    coalesce(url, '') as url,
    name,
    labels,
    value
from raw.samples
