-- The rows of macros.models(), and how each may be spelled.
select
    listed.*,
    macros.model_spellings(listed.model, listed.aliases) as spellings
from (
    select * from seeds.models
    where lower(models.model) not in (select lower(mine.model) from raw.model_configs as mine)
    union all by name
    select
        unnest(latest.spec),
        latest.source as aliases, -- what the user called the file
        latest.source
    from (
        select
            -- Not the kept spec: this may be computed before that is renewed (queries/macros/catalogue.sql).
            macros.model_in(macros.model_text(model_configs.model, model_configs.config)) as spec,
            sources.name as source
        from raw.model_configs
        inner join raw.sources using (source_id)
        qualify row_number() over (
            partition by lower(model_configs.model) order by sources.source_id desc
        ) = 1
    ) as latest
) as listed;
