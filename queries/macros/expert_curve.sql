-- Measured times of all experts of one layer as curves over the tokens of a step, and the one nearest to a model's.

-- All curves, built in and taken in.
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

-- What peak rates allow for all experts of a layer: the weights of those that are hit, and the arithmetic.
-- Only differences of it are used, to carry a curve to another GPU or to a size near to its own: what a kernel
-- loses beyond its roof is then left as it was measured.
create macro macros.expert_roof_s(tokens, hidden, shard, experts, experts_per_token, bytes_per_weight, hbm_bytes_per_s, flop_per_s) as
    3 * hidden * shard
    * (
        macros.distinct_experts(experts, experts_per_token, tokens) * bytes_per_weight / hbm_bytes_per_s
        + 2 * tokens * experts_per_token / flop_per_s
    );

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
        peak.gpu[curves.gpu] as theirs,
        peak.gpu[of_gpu] as ours,
        peak.format[curves.format] as format
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
            {'curve': curve, 'shape_ratio': shape_ratio, 'theirs': theirs, 'ours': ours, 'format': format},
            (
                macros.kernel_distance(
                    curve.engine, curve.format, curve.gpu, curve.engine_version, of_engine, of_format, of_gpu, of_version,
                    theirs, ours
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
        found.theirs as theirs,
        found.ours as ours,
        found.format as format,
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
                points.format.bytes_per_weight, points.ours.hbm_bytes_per_s,
                macros.format_flop_per_s(points.ours, points.format.compute)
            )
            - macros.expert_roof_s(
                points.tokens, points.curve.hidden, points.curve.intermediate / points.curve.tensor_parallel_size::double,
                of_experts / points.curve.expert_parallel_size::double, of_experts_per_token / points.curve.expert_parallel_size::double,
                points.format.bytes_per_weight, points.theirs.hbm_bytes_per_s,
                macros.format_flop_per_s(points.theirs, points.format.compute)
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
from points;
