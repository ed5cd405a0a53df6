-- How much of the prompts would a prefix cache of a given size hold?
--
-- One row per trace and size of the cache; the row without a size is a cache without a limit. Where reused_ratio stops growing, more
-- memory for the cache brings nothing.
-- group: traces
select
    source_name,
    capacity_tokens,
    capacity_blocks,
    uses,
    reused,
    reused_ratio
from marts.reuse
order by
    source_name,
    capacity_blocks nulls last
