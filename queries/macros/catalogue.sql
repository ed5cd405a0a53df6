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
select * exclude (spellings) from warehouse.models;

-- The one model of each of many names, the columns of macros.models_named behind the name (asked_model); no row for a name that is not known.
--   select asked_model, model, named_format from macros.models_found(['meta-llama/Llama-3.1-8B-Instruct-FP8', 'qwen3-8b'])
create macro macros.models_found(names) as table
with asked as (
    select distinct unnest(names) as name
),

-- A whole name, and one without its format.
wanted as (
    select
        name,
        unnest([
            {'spelling': macros.model_spelling(name), 'place': 0},
            {'spelling': macros.bare_spelling(name), 'place': 2}
        ]) as spelled
    from asked
    where not starts_with(name, '{')
),

found as (
    select
        wanted.name,
        arg_min(known, wanted.spelled.place + case when known.published_params is null then 0 else 1 end) as model,
        min(wanted.spelled.place) as place
    from wanted
    inner join warehouse.models as known on list_contains(known.spellings, wanted.spelled.spelling)
    group by wanted.name
)

select
    name as asked_model,
    unnest(model),
    case when place >= 2 then macros.format_of_name(name) end as named_format
from found
union all by name
select
    written.name as asked_model,
    unnest(written.model),
    'its config.json' as source
from (
    select
        name,
        macros.model_in(case when starts_with(name, '{') then name end) as model
    from asked
    where starts_with(name, '{')
) as written
where written.model.architecture is not null;

-- The one model of a name, with named_format: the format that the name says, null where it says none (macros.format_of_name).
-- A whole name comes before one without its format, a user's model before a built-in one, which alone has published
-- parameters. A name that begins with a brace is the text of a model.
--   select model, named_format from macros.models_named('meta-llama/Llama-3.1-8B-Instruct-FP8')
create macro macros.models_named(of_model) as table
select * exclude (asked_model, spellings) from macros.models_found([of_model]);

-- All GPUs, with the columns of seeds.gpus, those of seeds.gpu_families, and kinship. Kernel tables that were taken in make a GPU a
-- measured one, too.
--   is_measured   kernels were timed on it
--   kinship       how near the nearest measured GPU is: 'measured' (itself), 'same_family', 'kin' (of the same vendor) or 'unmeasured'
--   select gpu, hbm_bytes_per_s, kinship from macros.gpus() limit 3
create macro macros.gpus() as table
select * exclude (spellings, is_users) from warehouse.gpus;

-- The one GPU of each of many names, as one value behind the name (asked_gpu); a user's comes first.
--   select asked_gpu, gpu.memory_bytes from macros.gpus_found(['NVIDIA H100 80GB HBM3', 'h200'])
create macro macros.gpus_found(names) as table
select
    asked.name as asked_gpu,
    arg_min(known, not known.is_users) as gpu
from (select distinct unnest(names) as name) as asked
inner join warehouse.gpus as known on list_contains(known.spellings, macros.gpu_spelling(asked.name))
group by asked.name;

-- The one GPU of a name; a user's comes first.
--   select gpu, memory_bytes from macros.gpus_named('NVIDIA H100 80GB HBM3')
create macro macros.gpus_named(of_gpu) as table
select * exclude (spellings, is_users)
from (select unnest(gpu) from macros.gpus_found([of_gpu]));

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
