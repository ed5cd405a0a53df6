-- Time of an all-reduce, from measured points: a line in logarithms that bends
-- at each point; flat below the first one, straight on above the last.

-- Where the line bends: ln of the message's bytes, and by how much the slope
-- changes there. Degrees that were not measured take the nearest one.
create macro macros.all_reduce_bends(of_gpus) as table
with points as (
    select
        all_reduce.message_bytes,
        ln(all_reduce.message_bytes) as ln_bytes,
        ln(all_reduce.seconds) as ln_seconds
    from seeds.all_reduce
    where all_reduce.gpus = (
        select arg_min(measured.gpus, abs(measured.gpus - of_gpus))
        from seeds.all_reduce as measured
    )
),

rises as (
    select
        ln_bytes,
        ln_seconds,
        (lead(ln_seconds) over (order by ln_bytes) - ln_seconds)
        / (lead(ln_bytes) over (order by ln_bytes) - ln_bytes) as slope
    from points
)
select
    ln_bytes,
    ln_seconds,
    coalesce(slope - coalesce(lag(slope) over (order by ln_bytes), 0), 0) as slope_change
from rises;

-- What the k-th bend adds to the line at x: nothing before it.
create macro macros.rise_since(bends, k, x) as
    coalesce(bends[k].slope_change * greatest(0e0, x - bends[k].ln_bytes), 0e0);

-- Seconds of one all-reduce of message_bytes on each GPU.
-- first_s is the time at the first bend; bends is a list of (ln_bytes, slope_change), at
-- most eight. They are written out because a lambda here would copy the whole deployment
-- for each row: ten times slower.
create macro macros.all_reduce_s(first_s, bends, message_bytes) as
    case when len(bends) > 8 then error('all_reduce_s: more than eight bends')::double
        else first_s * exp(
            macros.rise_since(bends, 1, ln(message_bytes))
            + macros.rise_since(bends, 2, ln(message_bytes))
            + macros.rise_since(bends, 3, ln(message_bytes))
            + macros.rise_since(bends, 4, ln(message_bytes))
            + macros.rise_since(bends, 5, ln(message_bytes))
            + macros.rise_since(bends, 6, ln(message_bytes))
            + macros.rise_since(bends, 7, ln(message_bytes))
            + macros.rise_since(bends, 8, ln(message_bytes))
        )
    end;
