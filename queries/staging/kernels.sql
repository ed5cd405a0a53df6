-- One row per kernel of a profile, with its category: that of the first rule whose pattern is found in the kernel's name. A user's own rules
-- come first, the latest ingested ones before earlier ones, and then the built-in ones. A kernel that no rule fits is 'other'.
-- Published per source.
-- group: server
-- source_id     the profile
-- source_name   what the user calls it
-- seq           0-based place in the file
-- name          the kernel's
-- category      attention, moe experts, gemm, nccl, norm/elementwise, sampling, memcpy, other, or a user's own
-- pattern       of the rule that said so; null for 'other'
-- rules         what the rule is of: the name of the user's file, or 'tidemark'; null without a rule
-- instances     launches
-- total_s       of all launches, seconds
-- mean_s        of one, seconds
with rules as (
    select
        1 as rank,
        -kernel_rules.source_id as file,
        kernel_rules.seq,
        kernel_rules.category,
        kernel_rules.pattern,
        sources.name as rules
    from raw.kernel_rules
    inner join raw.sources on sources.source_id = kernel_rules.source_id
    union all
    select
        2,
        0,
        seq,
        category,
        pattern,
        'tidemark'
    from seeds.kernel_rules
),

names as (
    select distinct name
    from raw.kernels
),

ruled as (
    select
        names.name,
        arg_min(struct_pack(category := rules.category, pattern := rules.pattern, rules := rules.rules), (rules.rank, rules.file, rules.seq)) as rule
    from names
    inner join rules on regexp_matches(names.name, rules.pattern)
    group by names.name
)

select
    kernels.source_id,
    sources.name as source_name,
    kernels.seq,
    kernels.name,
    coalesce(ruled.rule.category, 'other') as category,
    ruled.rule.pattern as pattern,
    ruled.rule.rules as rules,
    kernels.instances,
    kernels.total_s,
    coalesce(kernels.mean_s, kernels.total_s / nullif(kernels.instances, 0)) as mean_s
from raw.kernels
inner join raw.sources on sources.source_id = kernels.source_id
left join ruled on ruled.name = kernels.name
