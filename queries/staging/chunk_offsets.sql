-- One row per request of which chunks are known, with the instants of all of them in one list: fifty million rows of chunks would have to be
-- put together again.
-- group: runs
-- run_id             the replay
-- seq                the request
-- chunk_offsets_us   when each chunk that bore tokens had come, microseconds since the request was sent, in order
select
    run_id,
    seq,
    chunk_offsets_us
from raw.requests
where len(chunk_offsets_us) > 0
