-- Measured kernel times, built in and taken in, as curves; and the curve nearest to a wanted one.
-- They are in seconds, on one GPU. Of a point that was measured twice the lower median counts, of several
-- kernels the fastest, which is what an engine picks that was tuned.

-- A format as seeds.formats calls it, from what kernel tables call it.
create macro macros.kernel_format(name) as
    case lower(name)
        when 'bfloat16' then 'bf16'
        when 'float16' then 'bf16'
        when 'int4_wo' then 'gptq'
        when 'w4a16_mxfp4' then 'mxfp4'
        else lower(name)
    end;

-- Formats that one measurement may stand for: the same bits, other scales or zeros.
create macro macros.format_family(format) as
    case
        when format in ('fp8', 'fp8_block') then 'fp8'
        when format in ('gptq', 'awq') then 'int4'
        else format
    end;

-- A device's name without what all of them have: NVIDIA A100-SXM4-80GB is A100-SXM-80GB.
create macro macros.device_name(device) as
    replace(
        regexp_replace(regexp_replace(trim(device), '(?i)^nvidia +| +hbm\w*$', '', 'g'), '(?i)sxm\d', 'SXM', 'g'),
        ' ', '-'
    );

-- Where the times of each file were measured, in the seeds' names.
create macro macros.kernel_devices() as table
select
    kernel_tables.source_id,
    kernel_tables.seq as table_seq,
    any_value(sources.name) as source,
    coalesce(min(gpus.gpu), any_value(macros.device_name(kernel_tables.gpu))) as gpu,
    any_value(kernel_tables.engine) as engine,
    any_value(coalesce(nullif(regexp_extract(kernel_tables.engine_version, '^\d+(\.\d+)*'), ''), kernel_tables.engine_version)) as engine_version
from raw.kernel_tables
inner join raw.sources on sources.source_id = kernel_tables.source_id
left join macros.gpus() as gpus on macros.is_named(gpus.gpu, gpus.aliases, macros.device_name(kernel_tables.gpu))
group by
    kernel_tables.source_id,
    kernel_tables.seq;

create macro macros.expert_curves() as table
with measured as (
    select
        source_id,
        table_seq,
        macros.kernel_format(format) as format,
        kernel,
        router,
        hidden,
        intermediate,
        experts,
        experts_per_token,
        tensor_parallel_size,
        expert_parallel_size,
        tokens,
        quantile_disc(seconds, 0.5e0) as seconds
    from raw.expert_times
    group by all
),

fastest as (
    select
        source_id,
        table_seq,
        format,
        router,
        hidden,
        intermediate,
        experts,
        experts_per_token,
        tensor_parallel_size,
        expert_parallel_size,
        tokens,
        arg_min(kernel, (seconds, kernel)) as kernel,
        min(seconds) as seconds
    from measured
    group by all
),

curves as (
    select
        'built in' as source,
        expert_curves.gpu,
        expert_curves.engine,
        expert_curves.engine_version,
        expert_curves.format,
        expert_curves.kernel,
        expert_curves.router,
        expert_curves.hidden,
        expert_curves.intermediate,
        expert_curves.experts,
        expert_curves.experts_per_token,
        expert_curves.tensor_parallel_size,
        expert_curves.expert_parallel_size,
        expert_curves.tokens,
        expert_curves.seconds
    from seeds.expert_curves
    union all
    select
        devices.source,
        devices.gpu,
        devices.engine,
        devices.engine_version,
        fastest.format,
        string_agg(distinct fastest.kernel, ' ' order by fastest.kernel),
        fastest.router,
        fastest.hidden,
        fastest.intermediate,
        fastest.experts,
        fastest.experts_per_token,
        fastest.tensor_parallel_size,
        fastest.expert_parallel_size,
        list(fastest.tokens order by fastest.tokens),
        list(fastest.seconds order by fastest.tokens)
    from fastest
    inner join macros.kernel_devices() as devices on devices.source_id = fastest.source_id and devices.table_seq = fastest.table_seq
    group by
        devices.source,
        devices.gpu,
        devices.engine,
        devices.engine_version,
        fastest.format,
        fastest.router,
        fastest.hidden,
        fastest.intermediate,
        fastest.experts,
        fastest.experts_per_token,
        fastest.tensor_parallel_size,
        fastest.expert_parallel_size
)

select
    *,
    -- A narrow format that takes longer than 16 bits do where weights are all that counts was measured wrong: it streams a half
    -- or a quarter of theirs.
    coalesce(
        format <> 'bf16'
        and seconds[list_position(tokens, 64)] > 1.25e0 * max(case when format = 'bf16' then seconds[list_position(tokens, 64)] end) over (
            partition by
                source, gpu, engine, engine_version, router, hidden, intermediate, experts, experts_per_token,
                tensor_parallel_size, expert_parallel_size
        ),
        false
    ) as is_doubtful
from curves;
