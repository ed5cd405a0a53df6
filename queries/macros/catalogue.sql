-- What the bandwidth model knows: the seeds, and what users took in. A user's row comes
-- before a built-in one of the same name, and the later one before the earlier.
-- group: model

-- A model written as text, and back. The text is what a model is called by that is not in the catalogue:
-- macros.deployment('H200', macros.model_text('mine', config), ...).
--   select macros.model_text('mine', '{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
--       "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}')
create macro macros.model_text(name, config) as
    json_merge_patch(json_object('model', name), to_json(macros.model_config(config)))::varchar;

-- A model from the text that macros.model_text writes, as a struct with the columns of seeds.models.
--   select macros.model_in(macros.model_text('mine', '{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
--       "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}')).layers
create macro macros.model_in(text) as json_transform(text, '{
    "model": "VARCHAR", "architecture": "VARCHAR", "layers": "BIGINT", "hidden": "BIGINT",
    "query_heads": "BIGINT", "kv_heads": "BIGINT", "head_dim": "BIGINT", "intermediate": "BIGINT", "vocab": "BIGINT",
    "experts": "BIGINT", "experts_per_token": "BIGINT", "expert_intermediate": "BIGINT",
    "window_tokens": "BIGINT", "windowed_layers": "BIGINT", "is_tied": "BOOLEAN",
    "native_format": "VARCHAR", "native_kv_format": "VARCHAR", "native_bytes_per_weight": "DOUBLE", "plain_parts": ["VARCHAR"],
    "mlp_matrices": "BIGINT", "expert_layers": "BIGINT", "dense_layers": "BIGINT", "dense_intermediate": "BIGINT",
    "shared_intermediate": "BIGINT", "attention_layers": "BIGINT", "query_matrices": "BIGINT",
    "is_qk_norm_shared": "BOOLEAN", "is_mla": "BOOLEAN", "q_lora": "BIGINT", "kv_lora": "BIGINT", "nope_dim": "BIGINT", "rope_dim": "BIGINT", "value_dim": "BIGINT",
    "index_layers": "BIGINT", "index_heads": "BIGINT", "index_dim": "BIGINT",
    "linear_layers": "BIGINT", "linear_params": "DOUBLE", "linear_state_bytes": "DOUBLE",
    "mtp_layers": "BIGINT", "learned_places": "BIGINT", "max_context_tokens": "BIGINT"
}');

-- All models, with the columns of seeds.models.
--   select model, layers, hidden from macros.models() limit 3
create macro macros.models() as table
select * from seeds.models
where lower(models.model) not in (select lower(mine.model) from raw.model_configs as mine)
union all by name
select
    unnest(latest.spec),
    latest.source as aliases, -- what the user called the file
    latest.source
from (
    select
        macros.model_in(model_configs.spec) as spec,
        sources.name as source
    from raw.model_configs
    inner join raw.sources using (source_id)
    qualify row_number() over (
        partition by lower(model_configs.model) order by sources.source_id desc
    ) = 1
) as latest;

-- The one model of a name, with named_format: the format that the name says, null where it says none (macros.format_of_name).
-- A whole name comes before one without its format, a user's model before a built-in one, which alone has published
-- parameters. A name that begins with a brace is the text of a model.
--   select model, named_format from macros.models_named('meta-llama/Llama-3.1-8B-Instruct-FP8')
create macro macros.models_named(of_model) as table
select
    unnest(found.model),
    case when found.place >= 2 then macros.format_of_name(of_model) end as named_format
from (
    select
        arg_min(models, place) as model,
        min(place) as place
    from (
        select
            spelled.models,
            case when list_contains(spelled.spellings, macros.model_spelling(of_model)) then 0 else 2 end
            + case when spelled.models.published_params is null then 0 else 1 end as place
        from (select models, macros.model_spellings(models.model, models.aliases) as spellings from macros.models() as models) as spelled
        where list_contains(spelled.spellings, macros.model_spelling(of_model))
            or list_contains(spelled.spellings, macros.bare_spelling(of_model))
    ) as named
) as found
where found.place is not null
union all by name
select
    unnest(macros.model_in(asked.text)),
    'its config.json' as source
from (select case when starts_with(of_model, '{') then of_model end as text) as asked
where macros.model_in(asked.text).architecture is not null;

-- All GPUs, with the columns of seeds.gpus, those of seeds.gpu_families, and kinship. Kernel tables that were taken in make a GPU a
-- measured one, too.
--   is_measured   kernels were timed on it
--   kinship       how near the nearest measured GPU is: 'measured' (itself), 'same_family', 'kin' (of the same vendor) or 'unmeasured'
--   select gpu, hbm_bytes_per_s, kinship from macros.gpus() limit 3
create macro macros.gpus() as table
select
    listed.*,
    case
        when listed.is_measured then 'measured'
        when bool_or(listed.is_measured) over (partition by coalesce(listed.family, listed.gpu)) then 'same_family'
        when bool_or(listed.is_measured) over (partition by coalesce(listed.vendor, listed.gpu)) then 'kin'
        else 'unmeasured'
    end as kinship
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

-- The one GPU of a name; a user's comes first.
--   select gpu, memory_bytes from macros.gpus_named('NVIDIA H100 80GB HBM3')
create macro macros.gpus_named(of_gpu) as table
select unnest(found.gpu)
from (
    select arg_min(gpus, lower(gpus.gpu) not in (select lower(mine.gpu) from raw.gpus as mine)) as gpu
    from macros.gpus() as gpus
    where macros.is_gpu(gpus.gpu, gpus.aliases, of_gpu)
) as found
where found.gpu is not null;

-- What GPUs cost, with the columns of seeds.prices and is_users: for a GPU that has prices of the user's, take
-- those, the latest first (row 1 of each GPU is the one to use).
--   select gpu, usd_per_gpu_hour, label from macros.prices() where place = 1 limit 3
create macro macros.prices() as table
select
    every.gpu,
    every.usd_per_gpu_hour,
    every.label,
    every.source,
    every.source_id is not null as is_users,
    row_number() over (
        partition by lower(every.gpu) order by every.source_id desc nulls last, every.usd_per_gpu_hour
    ) as place
from (
    select
        null::bigint as source_id,
        gpu,
        usd_per_gpu_hour,
        label,
        source
    from seeds.prices
    union all
    select
        source_id,
        -- What is an alias in the catalogue is called as the catalogue does.
        coalesce((select min(gpus.gpu) from macros.gpus() as gpus where macros.is_gpu(gpus.gpu, gpus.aliases, mine.gpu)), mine.gpu),
        mine.usd_per_gpu_hour,
        mine.label,
        sources.name
    from raw.prices as mine
    inner join raw.sources using (source_id)
) as every;

-- A newer reader of config.json reads what users took in with an older one.
update raw.model_configs set spec = macros.model_text(model, config);
