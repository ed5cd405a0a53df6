-- Migration 2: what several servers, and a server's own clock, say of each request.

alter table raw.requests add column endpoint varchar;               -- base url that it went to; null where there was one server only
alter table raw.requests add column server_ttft_s double;           -- the server's own: from scheduled to the first token; null where it does not say
alter table raw.requests add column server_generation_s double;     -- the server's own: from the first token to the last
alter table raw.requests add column server_queue_s double;          -- the server's own: from arrived to scheduled
alter table raw.requests add column server_mean_itl_s double;       -- the server's own: mean gap between tokens
alter table raw.samples add column url varchar;                     -- address of the exposition; null for the client's own state
