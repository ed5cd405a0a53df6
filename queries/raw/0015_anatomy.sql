-- Migration 15: what only an engine in virtual time knows of each request.

alter table raw.requests add column server_engine_s double;             -- its share of the time of its engine's steps, seconds; null where nobody knows
alter table raw.requests add column server_recomputed_tokens bigint;    -- tokens computed again after it was preempted; null where nobody knows
