-- The instants of a request follow each other: due, sent, written or headers (a server
-- may answer before it has read everything), first token, last token, done. Half a
-- microsecond is rounding.
-- group: trust
-- run_id          the replay
-- seq             the request's place in its plan
-- due_s           when the plan says it should go out, seconds since the run began
-- sent_s          just before the first byte is written
-- written_s       after its last byte
-- headers_s       response headers read
-- first_token_s   first chunk that brought a token
-- last_token_s    last such chunk
-- done_s          the stream ended
select
    run_id,
    seq,
    due_s,
    sent_s,
    written_s,
    headers_s,
    first_token_s,
    last_token_s,
    done_s
from raw.requests
where sent_s < due_s - 0.5e-6
    or written_s < sent_s - 0.5e-6
    or headers_s < sent_s - 0.5e-6
    or first_token_s < coalesce(headers_s, sent_s) - 0.5e-6
    or last_token_s < first_token_s - 0.5e-6
    or done_s < coalesce(last_token_s, first_token_s, headers_s, sent_s) - 0.5e-6
