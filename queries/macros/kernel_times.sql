-- What all tables of measured kernel times have in common: how measurements become curves, which curve is the nearest to a
-- question, and how it is carried to another GPU or shape. expert_curve, gemm_curve, attention_curve, mla_curve and
-- all_reduce_curve in this folder say what their kind of kernel depends on. Times are seconds on one GPU. An engine that was
-- tuned picks the fastest kernel, so the fastest is taken.
-- group: kernels

-- A format as seeds.formats calls it, from what kernel tables call it.
--   select macros.kernel_format('bfloat16')
create macro macros.kernel_format(name) as
    case lower(name)
        when 'bfloat16' then 'bf16'
        when 'float16' then 'bf16'
        when 'int4_wo' then 'gptq'
        when 'w4a16_mxfp4' then 'mxfp4'
        else lower(name)
    end;

-- Formats that one measurement may stand for: the same bits, other scales or zeros.
--   select macros.format_family('fp8_block')
create macro macros.format_family(format) as
    case
        when format in ('fp8', 'fp8_block') then 'fp8'
        when format in ('gptq', 'awq') then 'int4'
        else format
    end;

-- A device's name without what all of them have: NVIDIA A100-SXM4-80GB is A100-SXM-80GB.
--   select macros.device_name('NVIDIA A100-SXM4-80GB')
create macro macros.device_name(device) as
    replace(
        regexp_replace(regexp_replace(trim(device), '(?i)^nvidia +| +hbm\w*$', '', 'g'), '(?i)sxm\d', 'SXM', 'g'),
        ' ', '-'
    );

-- Where the times of each file were measured, in the seeds' names.
--   select count(*) as tables from macros.kernel_devices()
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

-- Curves of the measurements in a list, one per file, table and shape: of a point that was measured several times the lower
-- median counts, of several kernels the fastest. The list holds {source_id, table_seq, shape, x, kernel, seconds}, where shape is
-- a struct of what else the kind of kernel depends on: a macro cannot take a table, but it can take a list of any struct.
--   source, gpu, engine, engine_version   where it was measured
--   shape        as given
--   kernel       which implementation was the fastest; several where that changes along the curve
--   xs, seconds  the points, x rising
--   select count(*) as curves
--   from macros.measured_curves((select list({'source_id': source_id, 'table_seq': table_seq, 'shape': {'gpus': gpus},
--       'x': message_bytes, 'kernel': kernel, 'seconds': seconds})
--   from raw.all_reduce_times))
create macro macros.measured_curves(measurements) as table
with measured as (
    select
        one.source_id,
        one.table_seq,
        one.shape,
        one.x,
        one.kernel,
        quantile_disc(one.seconds, 0.5e0) as seconds
    from (select unnest(measurements) as one)
    group by all
),

fastest as (
    select
        source_id,
        table_seq,
        shape,
        x,
        arg_min(kernel, (seconds, kernel)) as kernel,
        min(seconds) as seconds
    from measured
    group by all
)

select
    devices.source,
    devices.gpu,
    devices.engine,
    devices.engine_version,
    fastest.shape,
    string_agg(distinct fastest.kernel, ' ' order by fastest.kernel) as kernel,
    list(fastest.x order by fastest.x) as xs,
    list(fastest.seconds order by fastest.x) as seconds
from fastest
inner join macros.kernel_devices() as devices on devices.source_id = fastest.source_id and devices.table_seq = fastest.table_seq
group by all;

-- How far the bandwidths of two GPUs are apart, as a logarithm; far where one is not known.
--   select macros.bandwidth_distance(gpu['H100'], gpu['H200']) from macros.peaks()
create macro macros.bandwidth_distance(gpu, other) as
    coalesce(abs(ln(gpu.hbm_bytes_per_s / other.hbm_bytes_per_s)), 9e0);

-- How far a curve is from what is wanted, less being nearer: the engine first, then the format, then the
-- GPU, then the version; without a wanted version the newest. Another GPU with the same arithmetic (H100 and H200) is
-- nearer than a version 3 minor ones away: carried between these two, experts are 4-9 % off at the median; within 3 minor
-- versions they moved by 1-3 %, over 5 by 4-57 %. peak is the row of macros.peaks().
--   select macros.kernel_distance({'engine': 'vllm', 'gpu': 'H200', 'engine_version': '0.14.1'}, 'fp8', 'vllm', 'fp8', 'H100',
--       '0.24.0', peak)
--   from macros.peaks() as peak
create macro macros.kernel_distance(curve, format, wanted_engine, wanted_format, wanted_gpu, wanted_version, peak) as
    case when curve.engine = lower(wanted_engine) then 0e0 else 1e8 end
    + case when format = wanted_format or macros.format_family(format) = 'int4' then 0e0 else 1e7 end
    + case
        when curve.gpu = wanted_gpu then 0e0
        -- The nearer bandwidth decides between two GPUs of one arithmetic: a GH200 has that of the H100 and of the H200.
        when peak.gpu[curve.gpu].bf16_flop_per_s = peak.gpu[wanted_gpu].bf16_flop_per_s
            then 2.5e0 + 1e-3 * macros.bandwidth_distance(peak.gpu[curve.gpu], peak.gpu[wanted_gpu])
        else 1e5 + macros.bandwidth_distance(peak.gpu[curve.gpu], peak.gpu[wanted_gpu])
    end
    + coalesce(
        abs(macros.version_number(curve.engine_version) - macros.version_number(wanted_version)),
        9999 - coalesce(macros.version_number(curve.engine_version), 0)
    );

-- Of all curves the one at the least distance. At the same distance what the user took in goes before what is built in.
--   select macros.nearest_curve(curves, abs(curves.n - 4096)).n as n from macros.gemm_curves() as curves
create macro macros.nearest_curve(curve, distance) as
    arg_min(curve, (distance, curve.source = 'built in', curve.source));

-- Whether a curve of one GPU can stand for another: the same, or the peak rates of both are known.
--   select macros.is_portable('H200', 'H100', peak) from macros.peaks() as peak
create macro macros.is_portable(gpu, wanted_gpu, peak) as
    gpu = wanted_gpu or peak.gpu[gpu] is not null and peak.gpu[wanted_gpu] is not null;

-- A measured time carried to another GPU or shape by the difference of the two rooflines (Williams, Waterman and Patterson 2009): what the kernel loses
-- beyond its own roof is left as it was measured. At least half of it remains, because a difference can exceed the measurement.
--   select macros.carried_s(1e-3, false, 0.9e-3, 0.7e-3)
create macro macros.carried_s(measured_s, is_same, roof_s, own_roof_s) as
    case when is_same then measured_s else greatest(measured_s / 2, measured_s + roof_s - own_roof_s) end;

-- GPUs and formats by name, in one row: a curve's own and the wanted ones are looked up in it.
--   select gpu['H100'].hbm_bytes_per_s as hbm_bytes_per_s from macros.peaks()
create macro macros.peaks() as table
select * from warehouse.peaks;

-- FLOP/s of a GPU, a struct with the columns of seeds.gpus, at the precision that a format is multiplied in: 'bf16', 'fp8' or 'fp4'.
--   select macros.format_flop_per_s(gpu['H100'], 'fp8') from macros.peaks()
create macro macros.format_flop_per_s(gpu, compute) as
    case
        when compute = 'fp4' then coalesce(gpu.fp4_flop_per_s, gpu.bf16_flop_per_s)
        when compute = 'fp8' then coalesce(gpu.fp8_flop_per_s, gpu.bf16_flop_per_s)
        else gpu.bf16_flop_per_s
    end;
