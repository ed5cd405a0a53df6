-- The rows of macros.gpus(), which has its columns in words, how each GPU may be spelled, and whether it is a user's.
select
    listed.*,
    case
        when listed.is_measured then 'measured'
        when bool_or(listed.is_measured) over (partition by coalesce(listed.family, listed.gpu)) then 'same_family'
        when bool_or(listed.is_measured) over (partition by coalesce(listed.vendor, listed.gpu)) then 'kin'
        else 'unmeasured'
    end as kinship,
    macros.gpu_spellings(listed.gpu, listed.aliases) as spellings,
    lower(listed.gpu) in (select lower(mine.gpu) from raw.gpus as mine) as is_users
from (
    select
        every.*,
        families.vendor,
        families.family,
        coalesce(families.is_measured, false)
        or (
            select coalesce(bool_or(macros.is_gpu(every.gpu, every.aliases, tables.gpu)), false)
            from (select distinct kernel_tables.gpu from raw.kernel_tables) as tables
        ) as is_measured
    from (
        select * from seeds.gpus
        where lower(gpus.gpu) not in (select lower(mine.gpu) from raw.gpus as mine)
        union all by name
        select
            -- In the place of a built-in one it answers to that one's names.
            mine.* exclude (source_id) replace (coalesce(mine.aliases, built_in.aliases) as aliases),
            sources.name as source
        from raw.gpus as mine
        inner join raw.sources using (source_id)
        left join seeds.gpus as built_in on lower(built_in.gpu) = lower(mine.gpu)
        qualify row_number() over (partition by lower(mine.gpu) order by mine.source_id desc) = 1
    ) as every
    left join seeds.gpu_families as families on lower(families.gpu) = lower(every.gpu)
) as listed;
