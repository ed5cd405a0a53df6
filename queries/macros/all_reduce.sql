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

-- Seconds of one all-reduce of message_bytes on each GPU.
-- first_s is the time at the first bend; bends is a list of (ln_bytes, slope_change).
create macro macros.all_reduce_s(first_s, bends, message_bytes) as
    first_s * exp(list_sum([
        bend.slope_change * greatest(0e0, ln(message_bytes) - bend.ln_bytes) for bend in bends
    ]));
