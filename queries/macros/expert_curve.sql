-- The measured curve that is nearest to the experts of one layer, and how near it is.

-- How far a measurement is from what is wanted, less being nearer: the engine first, then the format, then the
-- GPU, then the version; without a wanted version the newest. Another GPU with the same arithmetic (H100 and H200) is
-- nearer than a version 3 minor ones away: carried between these two, experts are 4-9 % off at the median; within 3 minor
-- versions they moved by 1-3 %, over 5 by 4-57 %.
create macro macros.kernel_distance(
    engine, format, gpu, engine_version, wanted_engine, wanted_format, wanted_gpu, wanted_version, is_same_arithmetic
) as
    case when engine = lower(wanted_engine) then 0e0 else 1e8 end
    + case when format = wanted_format or macros.format_family(format) = 'int4' then 0e0 else 1e7 end
    + case when gpu = wanted_gpu then 0e0 when is_same_arithmetic then 2.5e0 else 1e5 end
    + coalesce(
        abs(macros.version_number(engine_version) - macros.version_number(wanted_version)),
        9999 - coalesce(macros.version_number(engine_version), 0)
    );

-- What peak rates allow for all experts of a layer: the weights of those that are hit, and the arithmetic.
-- Only differences of it are used, to carry a curve to another GPU or to a size near to its own: what a kernel
-- loses beyond its roof is then left as it was measured.
create macro macros.expert_roof_s(tokens, hidden, shard, experts, experts_per_token, bytes_per_weight, hbm_bytes_per_s, flop_per_s) as
    3 * hidden * shard
    * (
        macros.distinct_experts(experts, experts_per_token, tokens) * bytes_per_weight / hbm_bytes_per_s
        + 2 * tokens * experts_per_token / flop_per_s
    );

-- FLOP/s at the precision that the format is multiplied in.
create macro macros.format_flop_per_s(gpu, compute) as
    case
        when compute = 'fp4' then coalesce(gpu.fp4_flop_per_s, gpu.bf16_flop_per_s)
        when compute = 'fp8' then coalesce(gpu.fp8_flop_per_s, gpu.bf16_flop_per_s)
        else gpu.bf16_flop_per_s
    end;

-- GPUs and formats by name, in one row: a curve's own and the wanted ones are looked up in it.
create macro macros.peaks() as table
select
    (select map_from_entries(list((gpus.gpu, gpus))) from macros.gpus() as gpus) as gpu,
    (select map_from_entries(list((formats.format, formats))) from seeds.formats) as format;

-- Rows (tokens, seconds) of the nearest curve, carried to what was asked for; no rows where nothing is near: the number
-- of experts, the experts of a token and the expert parallel degree must be those asked for, and each GPU's share
-- of an expert within 1.5 times.
--   tokens          of the step, in powers of two for what is built in
--   seconds         of all experts of one layer on one GPU
--   from_gpu, from_engine, from_version, from_format, from_router, from_source, kernel   what was measured
--   shape_ratio     asked share of an expert's weights to the measured one; 1: that very shape
--   is_carried      seconds are not as measured, but carried from another GPU or shape by what peak rates differ in
create macro macros.expert_curve(
    of_gpu, of_engine, of_version, of_format, of_hidden, of_intermediate, of_experts, of_experts_per_token,
    of_tensor_parallel_size, of_expert_parallel_size, of_router
) as table
with near as (
    select
        curves as curve,
        of_hidden * of_intermediate / of_tensor_parallel_size::double
        / (curves.hidden * curves.intermediate / curves.tensor_parallel_size::double) as shape_ratio,
        coalesce(peak.gpu[curves.gpu].bf16_flop_per_s = peak.gpu[of_gpu].bf16_flop_per_s, false) as is_same_arithmetic
    from macros.expert_curves() as curves
    cross join macros.peaks() as peak
    where curves.experts = of_experts
        and curves.experts_per_token = of_experts_per_token
        and curves.expert_parallel_size = coalesce(of_expert_parallel_size, 1)
        and macros.format_family(curves.format) = macros.format_family(of_format)
        and (curves.gpu = of_gpu or peak.gpu[curves.gpu] is not null and peak.gpu[of_gpu] is not null)
        and not curves.is_doubtful
),

nearest as (
    select
        arg_min(
            {'curve': curve, 'shape_ratio': shape_ratio},
            (
                macros.kernel_distance(
                    curve.engine, curve.format, curve.gpu, curve.engine_version, of_engine, of_format, of_gpu, of_version,
                    is_same_arithmetic
                )
                -- Another shape is further than another GPU.
                + case when abs(ln(shape_ratio)) < 1e-9 then 0e0 else 1e6 * (1 + abs(ln(shape_ratio))) end
                + case when curve.router = of_router then 0e0 when of_router is null and curve.router = 'balanced' then 0e0 else 0.5e0 end,
                -- What the user took in goes before what is built in.
                curve.source = 'built in',
                curve.source
            )
        ) as found
    from near
    where abs(ln(shape_ratio)) < ln(1.5e0)
),

points as (
    select
        found.curve as curve,
        found.shape_ratio as shape_ratio,
        unnest(found.curve.tokens) as tokens,
        unnest(found.curve.seconds) as measured_s
    from nearest
    where found is not null
)

select
    points.tokens,
    case
        when points.curve.gpu = of_gpu and abs(ln(points.shape_ratio)) < 1e-9 then points.measured_s
        else greatest(
            points.measured_s / 2,
            points.measured_s
            + macros.expert_roof_s(
                points.tokens, of_hidden, of_intermediate / of_tensor_parallel_size::double,
                of_experts / points.curve.expert_parallel_size::double, of_experts_per_token / points.curve.expert_parallel_size::double,
                peak.format[points.curve.format].bytes_per_weight, peak.gpu[of_gpu].hbm_bytes_per_s,
                macros.format_flop_per_s(peak.gpu[of_gpu], peak.format[points.curve.format].compute)
            )
            - macros.expert_roof_s(
                points.tokens, points.curve.hidden, points.curve.intermediate / points.curve.tensor_parallel_size::double,
                of_experts / points.curve.expert_parallel_size::double, of_experts_per_token / points.curve.expert_parallel_size::double,
                peak.format[points.curve.format].bytes_per_weight, peak.gpu[points.curve.gpu].hbm_bytes_per_s,
                macros.format_flop_per_s(peak.gpu[points.curve.gpu], peak.format[points.curve.format].compute)
            )
        )
    end as seconds,
    points.curve.gpu as from_gpu,
    points.curve.engine as from_engine,
    points.curve.engine_version as from_version,
    points.curve.format as from_format,
    points.curve.router as from_router,
    points.curve.source as from_source,
    points.curve.kernel as kernel,
    points.shape_ratio,
    points.curve.gpu <> of_gpu or abs(ln(points.shape_ratio)) >= 1e-9 as is_carried
from points
cross join macros.peaks() as peak;
