-- No request decodes faster than its bytes can be streamed at peak bandwidth. One that does has a wrong GPU, model or format stored with it, or
-- a broken clock. Allowed are 2 % for what the client cannot see of a step, and 10 ms per answer, or the client's longest late read, for
-- a first token that was seen late.
-- group: trust
-- run_id         the replay
-- seq            the request's place in its plan
-- tpot_s         measured time per token, seconds
-- floor_tpot_s   what HBM alone needs, seconds
select
    tpot_gap.run_id,
    tpot_gap.seq,
    tpot_gap.tpot_s,
    tpot_gap.floor_tpot_s
from marts.tpot_gap
left join staging.clients on clients.run_id = tpot_gap.run_id
where macros.is_below_floor(tpot_gap.tpot_s, tpot_gap.floor_tpot_s, tpot_gap.decode_tokens, clients.lag_max_s)
