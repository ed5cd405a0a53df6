-- Migration 10: an answer that waits for more than 35 minutes has offsets that no integer holds.

alter table raw.requests alter column chunk_offsets_us set data type bigint[];
