-- One row per trace with prefix blocks and size of a cache: how much of the prompts a least-recently-used cache of that size holds. It is counted
-- in the trace's own blocks, for one server that gets all requests at the trace's pace. A row without a size is an unlimited cache.
-- group: traces
-- source_name       what the user calls it
-- capacity_blocks   blocks that the cache holds; null: no limit
-- capacity_tokens   the same in tokens; null: no limit, or the size of a block is not known
-- uses              prompt blocks of all requests; of a trace with more than 524,288 of them, of its first requests
-- reused            of these, found at the start of their prompt
-- reused_ratio      their share
with totals as (
    select
        source_name,
        sum(uses)::bigint as uses,
        max(up_to_blocks) as furthest_blocks,
        any_value(block_tokens) as block_tokens
    from staging.block_distances
    group by source_name
),

capacities as (
    select
        source_name,
        uses,
        block_tokens,
        unnest(list_transform(range(0, 1 + coalesce(round(log2(furthest_blocks))::bigint, -1)), lambda k: pow(2, k)::bigint) || [null]) as capacity_blocks
    from totals
)

select
    capacities.source_name,
    capacities.capacity_blocks,
    capacities.capacity_blocks * any_value(capacities.block_tokens) as capacity_tokens,
    any_value(capacities.uses) as uses,
    coalesce(sum(distances.uses), 0)::bigint as reused,
    coalesce(sum(distances.uses), 0) / any_value(capacities.uses)::double as reused_ratio
from capacities
left join staging.block_distances as distances
    on distances.source_name = capacities.source_name
    and distances.up_to_blocks <= coalesce(capacities.capacity_blocks, distances.up_to_blocks)
group by
    capacities.source_name,
    capacities.capacity_blocks
