-- One row per gap between two chunks of a successful request that brought tokens; warm-up is left out, and answers that came whole. A chunk may hold
-- several tokens, so that a gap is a time per token only where each brought one.
-- group: runs
-- run_id   the replay
-- seq      the request's place in its plan
-- class    what the trace calls its kind
-- gap_us   from one chunk to the next, microseconds: as exact as it was measured, up to 35 minutes
-- itl_s    the same, seconds
select
    run_id,
    seq,
    class,
    least(offset_us - earlier_us, 2147483647)::integer as gap_us,
    (offset_us - earlier_us) * 1e-6 as itl_s
from (
    select
        requests.run_id,
        requests.seq,
        requests.class,
        unnest(measured.chunk_offsets_us[2:]) as offset_us,
        unnest(measured.chunk_offsets_us[:-2]) as earlier_us
    from staging.requests
    inner join raw.requests as measured
        on measured.run_id = requests.run_id
        and measured.seq = requests.seq
    where requests.is_success
        and not requests.is_whole
        and not requests.is_warm_up
        and len(measured.chunk_offsets_us) > 1
) as each
