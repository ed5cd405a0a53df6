-- No request decodes faster than its bytes can be streamed at peak bandwidth: one that
-- does has a wrong GPU, model or format beside it, or a broken clock. 2 % are allowed for
-- what the client cannot see of a step, and 10 ms of an answer for a first token seen late.
-- run_id         the replay
-- seq            the request's place in its plan
-- tpot_s         measured time per token, seconds
-- floor_tpot_s   what HBM alone needs, seconds
select
    run_id,
    seq,
    tpot_s,
    floor_tpot_s
from marts.tpot_gap
where macros.is_below_floor(tpot_s, floor_tpot_s, decode_tokens)
