-- The chunks of a request start at its first token and end at its last, to two microseconds (offsets are whole microseconds), and either all
-- of them or none have a number of tokens.
-- group: trust
-- run_id          the replay
-- seq             the request's place in its plan
-- first_token_s   first chunk that brought a token, seconds since the run began
-- last_token_s    last such chunk
-- first_chunk_s   the same by the chunks' own offsets
-- last_chunk_s    the same by the chunks' own offsets
select
    run_id,
    seq,
    first_token_s,
    last_token_s,
    sent_s + chunk_offsets_us[1] * 1e-6 as first_chunk_s,
    sent_s + chunk_offsets_us[-1] * 1e-6 as last_chunk_s
from raw.requests
where len(chunk_offsets_us) > 0
    and (
        abs(sent_s + chunk_offsets_us[1] * 1e-6 - first_token_s) > 2e-6
        or abs(sent_s + chunk_offsets_us[-1] * 1e-6 - last_token_s) > 2e-6
        or len(chunk_tokens) <> len(chunk_offsets_us)
    )
