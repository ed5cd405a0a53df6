-- One row per chunk that brought tokens: every latency can be computed again from these.
-- group: runs
-- run_id      the replay
-- seq         the request's place in its plan
-- chunk_seq   0-based place in the stream
-- at_s        when it was read, seconds since the run began
-- tokens      tokens in it; null where the server does not say
-- itl_s       since the chunk before, seconds; null for the first, and of answers that came whole
select
    each.run_id,
    each.seq,
    each.chunk_seq - 1 as chunk_seq,
    each.sent_s + each.offset_us * 1e-6 as at_s,
    each.tokens,
    case when not each.is_whole then (each.offset_us - each.earlier_us) * 1e-6 end as itl_s
from (
    select
        requests.run_id,
        requests.seq,
        requests.sent_s,
        macros.came_whole(
            coalesce(requests.output_tokens_reported, requests.output_tokens_counted),
            requests.reads,
            len(requests.chunk_offsets_us),
            requests.sent_s,
            requests.first_token_s,
            requests.last_token_s
        ) as is_whole,
        generate_subscripts(requests.chunk_offsets_us, 1) as chunk_seq,
        unnest(requests.chunk_offsets_us) as offset_us,
        unnest([null] || requests.chunk_offsets_us[:-2]) as earlier_us,
        unnest(coalesce(requests.chunk_tokens, [])) as tokens
    from raw.requests
    where len(requests.chunk_offsets_us) > 0
) as each
