-- One row per trace and distance: how far back its prompt blocks were last used.
-- A block's distance is its place in the order of last use when its request arrives: 1 is the block that was used last. A
-- least-recently-used cache holds a block if it has at least as many blocks as the distance. Only the leading blocks of a prompt can be
-- reused, so a block counts as no nearer than the blocks before it.
-- group: traces
-- source_id      number of the source
-- source_name    what the user calls it
-- up_to_blocks   the smallest power of two that is not below the distance; null: never used before
-- uses           of prompt blocks
-- block_tokens   tokens of a block; null where that is not known
select
    block_distances.source_id,
    sources.source_name,
    block_distances.up_to_blocks,
    block_distances.uses,
    sources.block_tokens
from raw.block_distances
inner join staging.sources on sources.source_id = block_distances.source_id
