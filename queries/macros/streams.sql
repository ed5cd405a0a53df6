-- How an answer came.
-- group: runs

-- An answer of two tokens or more that came at once, in one chunk, in one read, or in a few right after one another: something between server and client held
-- it back until it was whole, and its times per token are not known.
--   select macros.came_whole(8, 1, 8, 0e0, 0.5e0, 0.5e0)
create macro macros.came_whole(received_tokens, reads, chunks, sent_s, first_token_s, last_token_s) as
    coalesce(
        received_tokens >= 2
        and last_token_s - first_token_s < 1e-2 * (first_token_s - sent_s)
        and (chunks = 1 or reads = 1 or reads * 8 <= chunks),
        false
    );
