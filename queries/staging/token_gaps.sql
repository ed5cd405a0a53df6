-- One row per gap between two chunks of a successful request that brought tokens; warm-up is left out. A chunk may hold
-- several tokens, so that a gap is a time per token only where each brought one.
-- run_id   the replay
-- seq      the request's place in its plan
-- class    what the trace calls its kind
-- itl_s    from one chunk to the next, seconds
select
    chunks.run_id,
    chunks.seq,
    requests.class,
    chunks.itl_s
from staging.chunks
inner join staging.requests
    on requests.run_id = chunks.run_id
    and requests.seq = chunks.seq
    and requests.is_success
    and not requests.is_warm_up
where chunks.itl_s is not null
