-- One row per profile and category of kernels: its share of the GPU's kernel time. Shares add up to 1. Kernels that no rule knows are 'other',
-- which has a row even if there are none.
-- group: server
-- source_name   the profile
-- category      attention, moe experts, gemm, nccl, norm/elementwise, sampling, memcpy, other, or a user's own
-- kernels       different kernels
-- instances     launches
-- total_s       of all of them, seconds; kernels that ran side by side count each
-- share_ratio   of the time of all kernels of the profile
with shares as (
    select
        source_name,
        category,
        count(*) as kernels,
        sum(instances)::bigint as instances,
        sum(total_s) as total_s
    from staging.kernels
    group by all
    union all by name
    select
        source_name,
        'other' as category,
        0 as kernels,
        0 as instances,
        0e0 as total_s
    from staging.kernels
    group by all
    having count(*) filter (where category = 'other') = 0
)

select
    source_name,
    category,
    kernels,
    instances,
    total_s,
    total_s / nullif(sum(total_s) over (partition by source_name), 0) as share_ratio
from shares
