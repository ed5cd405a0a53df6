-- What all measured kernel times have in common; expert_curve, gemm_curve, attention_curve, mla_curve and
-- all_reduce_curve beside this file have the curves. They are in seconds, on one GPU. Of a point that was measured twice the lower median counts, of several
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
left join macros.gpus() as gpus on macros.is_gpu(gpus.gpu, gpus.aliases, kernel_tables.gpu)
group by
    kernel_tables.source_id,
    kernel_tables.seq;

-- How far a measurement is from what is wanted, less being nearer: the engine first, then the format, then the
-- GPU, then the version; without a wanted version the newest. Another GPU with the same arithmetic (H100 and H200) is
-- nearer than a version 3 minor ones away: carried between these two, experts are 4-9 % off at the median; within 3 minor
-- versions they moved by 1-3 %, over 5 by 4-57 %. theirs and ours are rows of macros.gpus().
create macro macros.kernel_distance(
    engine, format, gpu, engine_version, wanted_engine, wanted_format, wanted_gpu, wanted_version, theirs, ours
) as
    case when engine = lower(wanted_engine) then 0e0 else 1e8 end
    + case when format = wanted_format or macros.format_family(format) = 'int4' then 0e0 else 1e7 end
    + case
        when gpu = wanted_gpu then 0e0
        when theirs.bf16_flop_per_s = ours.bf16_flop_per_s then 2.5e0
        else 1e5 + coalesce(abs(ln(theirs.hbm_bytes_per_s / ours.hbm_bytes_per_s)), 9e0)
    end
    + coalesce(
        abs(macros.version_number(engine_version) - macros.version_number(wanted_version)),
        9999 - coalesce(macros.version_number(engine_version), 0)
    );

-- GPUs and formats by name, in one row: a curve's own and the wanted ones are looked up in it.
create macro macros.peaks() as table
select
    (select map_from_entries(list((gpus.gpu, gpus))) from macros.gpus() as gpus) as gpu,
    (select map_from_entries(list((formats.format, formats))) from seeds.formats) as format;

-- FLOP/s at the precision that the format is multiplied in.
create macro macros.format_flop_per_s(gpu, compute) as
    case
        when compute = 'fp4' then coalesce(gpu.fp4_flop_per_s, gpu.bf16_flop_per_s)
        when compute = 'fp8' then coalesce(gpu.fp8_flop_per_s, gpu.bf16_flop_per_s)
        else gpu.bf16_flop_per_s
    end;
