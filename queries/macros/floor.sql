-- What HBM alone needs for a decode step. `d` is a row of macros.deployment.
-- group: model

-- Bytes that one GPU streams at least in a decode step, with the context of all running sequences together, tokens. Of the experts of a
-- layer only those of one token count, because a skewed router may send all tokens to the same ones.
--   select macros.floor_bytes(d, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.floor_bytes(d, context, windowed) as
    d.plain_bytes + d.packed_bytes
    + d.expert_bytes * d.experts_per_token / d.expert_parallel_size
    + macros.kv_bytes(d, context, windowed);

-- Seconds that the memory alone needs for a decode step, at peak bandwidth: nothing decodes faster.
--   select macros.floor_s(d, 32 * 2000, 32 * 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.floor_s(d, context, windowed) as
    macros.floor_bytes(d, context, windowed) / d.hbm_bytes_per_s;

-- Mean of 1/y along a straight line from y_begin to y_end, both positive: the inverse of their logarithmic mean,
-- ln(y_end / y_begin) / (y_end - y_begin). Computed as a series in the relative difference, because the formula is 0/0 for equal ends;
-- good to 1e-5 for a factor of up to two.
--   select macros.mean_inverse(1e0, 2e0)
create macro macros.mean_inverse(y_begin, y_end) as
    2 / (y_begin + y_end)
    * (
        1
        + pow((y_end - y_begin) / (y_end + y_begin), 2) / 3
        + pow((y_end - y_begin) / (y_end + y_begin), 4) / 5
        + pow((y_end - y_begin) / (y_end + y_begin), 6) / 7
    );

-- A measurement below the floor: a wrong GPU, model, format or number of GPUs stored with it, or a
-- broken clock. 2 % are allowed for what the client cannot see of a step.
-- A first token that the client saw late shortens the rest: late_s is the longest that a read of it may have been late,
-- null where it does not say. On a short answer 10 ms are no proof either.
--   select macros.is_below_floor(3e-3, 4.8e-3, 200, null)
create macro macros.is_below_floor(tpot_s, floor_tpot_s, decode_tokens, late_s) as
    tpot_s + coalesce(late_s, 0) / decode_tokens < 0.98e0 * floor_tpot_s
    and (floor_tpot_s - tpot_s) * decode_tokens > 10e-3;

-- How many requests of a run may be below the floor: 1 in a hundred, and one of ten or more, for a single stream that the client read in lumps tells
-- nothing of a deployment.
--   select macros.most_below_floor(47)
create macro macros.most_below_floor(completed) as
    case when completed < 10 then 0 else greatest(1, 1e-2 * completed) end;
