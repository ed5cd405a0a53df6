-- Measured times of all experts of one layer as curves over the tokens of a step, and the one nearest to a model's.
-- group: kernels

-- All curves, built in and ingested: tokens and seconds are lists of the same length.
--   select gpu, format, experts, kernel from macros.expert_curves() limit 3
create macro macros.expert_curves() as table
select * from warehouse.expert_curves;

-- The family of kernels that an implementation is of: 'marlin', 'cutlass' or 'triton'; null: another. Of the same experts they take up to
-- twice as long as each other.
--   select macros.kernel_family('vllm_gptossmxfp4moe_triton_oaitritonmxfp4expertsmonolithic')
create macro macros.kernel_family(kernel) as
    case
        when contains(lower(kernel), 'marlin') then 'marlin'
        when contains(lower(kernel), 'cutlass') or contains(lower(kernel), 'trtllm') then 'cutlass'
        when contains(lower(kernel), 'triton') or contains(lower(kernel), 'fused_moe') then 'triton'
    end;

-- Whether an engine multiplies experts of a format with kernels of another family. Known for MXFP4 alone: vLLM takes Triton's on Hopper,
-- TensorRT-LLM its own of CUTLASS. The tables of vLLM 0.18 and 0.19 that name no kernel ("vllm_mxfp4_moe") take 25 to 35 us more than
-- Triton's at every size, which is launching one by one.
--   select macros.is_other_kernel('vllm_marlin_moe', 'vllm', 'mxfp4')
create macro macros.is_other_kernel(kernel, engine, format) as
    coalesce(
        format = 'mxfp4'
        and lower(engine) in ('vllm', 'tensorrt-llm')
        and macros.kernel_family(kernel) is distinct from case lower(engine) when 'vllm' then 'triton' else 'cutlass' end,
        false
    );

-- How much longer experts take if a few get most tokens, against tokens spread evenly; load is tokens times experts per token over experts.
-- Evenly spread tokens hit as many experts as they can, skewed ones hit fewer; but with many tokens everybody waits for the busiest
-- expert. Source: kernel tables, the median of power_law_1.01 over balanced of H100 and H200, all versions and shapes.
--   select macros.skew_ratio(1e0)
create macro macros.skew_ratio(load) as
    macros.curve_s(
        1e0,
        macros.curve_line([0.3e0, 0.5e0, 1e0, 2e0, 8e0, 64e0], [1e0, 0.78e0, 0.6e0, 0.83e0, 0.96e0, 1.12e0]),
        greatest(0.3e0, least(64e0, load))
    );

-- What peak rates allow for all experts of a layer: the weights of those that are hit, and the arithmetic.
-- Only differences of it are used, to carry a curve to another GPU or to a size near to its own: what a kernel
-- loses beyond its roof is then left as it was measured.
--   select macros.expert_roof_s(64, 2048, 768, 128, 8, 1, 3.35e12, 1979e12)
create macro macros.expert_roof_s(tokens, hidden, shard, experts, experts_per_token, bytes_per_weight, hbm_bytes_per_s, flop_per_s) as
    3 * hidden * shard
    * (
        macros.distinct_experts(experts, experts_per_token, tokens) * bytes_per_weight / hbm_bytes_per_s
        + 2 * tokens * experts_per_token / flop_per_s
    );

-- A measured time of experts carried to another GPU or shape by their rooflines. Between GPUs of one generation (equal arithmetic) by the
-- difference: H100 and H200 take the same time for launches, and their tables carried to each other are 4 to 5 % off at the median, 14 % by
-- the ratio. To another generation by the ratio: its launches are others, too.
--   select macros.carried_expert_s(1e-3, false, false, 0.7e-3, 0.9e-3)
create macro macros.carried_expert_s(measured_s, is_same, is_same_generation, roof_s, own_roof_s) as
    case
        when is_same or is_same_generation then macros.carried_s(measured_s, is_same, roof_s, own_roof_s)
        else measured_s * roof_s / own_roof_s
    end;

-- The asked share of an expert's weights to that of a curve.
--   select macros.shape_ratio({'hidden': 2048, 'intermediate': 768, 'tensor_parallel_size': 2}, curves) as ratio
--   from macros.expert_curves() as curves limit 1
create macro macros.shape_ratio(question, curve) as
    question.hidden * question.intermediate / question.tensor_parallel_size::double
    / (curve.hidden * curve.intermediate / curve.tensor_parallel_size::double);

-- What macros.expert_curve answers to many questions, structs of its arguments: gpu, engine, version, format, hidden, intermediate, experts,
-- experts_per_token, tensor_parallel_size, expert_parallel_size, router.
--   select question.gpu, tokens, seconds from macros.expert_curves_of([{'gpu': 'H100', 'engine': 'vllm', 'version': '0.24.0', 'format': 'fp8',
--       'hidden': 2048, 'intermediate': 768, 'experts': 128, 'experts_per_token': 8, 'tensor_parallel_size': 1,
--       'expert_parallel_size': 1, 'router': 'balanced'}]) limit 3
create macro macros.expert_curves_of(questions) as table
with near as (
    select
        asked.question,
        curves.curve,
        macros.shape_ratio(asked.question, curves.curve) as shape_ratio
    from (select distinct unnest(questions) as question) as asked
    inner join (select each as curve from macros.expert_curves() as each where not each.is_doubtful) as curves
        on curves.curve.experts = asked.question.experts
        and curves.curve.experts_per_token = asked.question.experts_per_token
        and curves.curve.expert_parallel_size = coalesce(asked.question.expert_parallel_size, 1)
        and macros.format_family(curves.curve.format) = macros.format_family(asked.question.format)
    where abs(ln(shape_ratio)) < ln(1.5e0)
),

-- curve and peak are columns here, and no tables' aliases: see the end of macros.deployments.
nearest as (
    select
        near.question,
        macros.nearest_curve(
            near.curve,
            macros.kernel_distance(
                near.curve, near.curve.format, near.question.engine, near.question.format, near.question.gpu, near.question.version, known.peak
            )
            -- Another kernel can take twice as long, another shape is further than another GPU, and that than another version.
            + case when macros.is_other_kernel(near.curve.kernel, near.question.engine, near.question.format) then 5e6 else 0e0 end
            + case when abs(ln(near.shape_ratio)) < 1e-9 then 0e0 else 1e6 * (1 + abs(ln(near.shape_ratio))) end
            -- Of shares of the same size the model's own sizes.
            + 1e-3 * (
                abs(ln(near.curve.hidden / near.question.hidden::double))
                + abs(ln(near.curve.tensor_parallel_size / near.question.tensor_parallel_size::double))
            )
            + case when near.curve.gpu = near.question.gpu then 0e0 else 1e4 end
            + case
                when near.curve.router = near.question.router then 0e0
                when near.question.router is null and near.curve.router = 'balanced' then 0e0
                else 0.5e0
            end
        ) as curve,
        any_value(known.peak.gpu[near.question.gpu]) as ours,
        any_value(known.peak) as peak
    from near
    cross join (select peak from macros.peaks() as peak) as known
    where macros.is_portable(near.curve.gpu, near.question.gpu, known.peak)
    group by near.question
),

points as (
    select
        question,
        curve,
        macros.shape_ratio(question, curve) as shape_ratio,
        curve.gpu = question.gpu and abs(ln(shape_ratio)) < 1e-9 as is_same,
        ours,
        peak.gpu[curve.gpu] as theirs,
        peak.format[curve.format] as format,
        unnest(curve.tokens) as tokens,
        unnest(curve.seconds) as curve_s,
        curve_s * case
            when curve.router = 'balanced' and starts_with(question.router, 'power_law')
                then macros.skew_ratio(tokens * question.experts_per_token / question.experts::double)
            else 1e0
        end as measured_s
    from nearest
    where curve is not null
),

roofs as (
    select
        *,
        macros.expert_roof_s(
            points.tokens, question.hidden, question.intermediate / question.tensor_parallel_size::double,
            question.experts / points.curve.expert_parallel_size::double, question.experts_per_token / points.curve.expert_parallel_size::double,
            points.format.bytes_per_weight, points.ours.hbm_bytes_per_s,
            macros.format_flop_per_s(points.ours, points.format.compute)
        ) as roof_s,
        macros.expert_roof_s(
            points.tokens, points.curve.hidden, points.curve.intermediate / points.curve.tensor_parallel_size::double,
            question.experts / points.curve.expert_parallel_size::double, question.experts_per_token / points.curve.expert_parallel_size::double,
            points.format.bytes_per_weight, points.theirs.hbm_bytes_per_s,
            macros.format_flop_per_s(points.theirs, points.format.compute)
        ) as own_roof_s
    from points
)

select
    points.question,
    points.tokens,
    macros.carried_expert_s(
        points.measured_s, points.is_same, points.ours.bf16_flop_per_s = points.theirs.bf16_flop_per_s, points.roof_s, points.own_roof_s
    ) as seconds,
    points.curve.gpu as from_gpu,
    points.curve.engine as from_engine,
    points.curve.engine_version as from_version,
    points.curve.format as from_format,
    points.curve.router as from_router,
    points.curve.source as from_source,
    points.curve.kernel as kernel,
    points.shape_ratio,
    not points.is_same as is_carried
from roofs as points;

-- Rows (tokens, seconds) of the nearest curve, carried to what was asked for; no rows where nothing is near: the number
-- of experts, the experts of a token and the expert parallel degree must be those asked for, and each GPU's share
-- of an expert within 1.5 times.
--   tokens          of the step, in powers of two for what is built in
--   seconds         of all experts of one layer on one GPU
--   from_gpu, from_engine, from_version, from_format, from_router, from_source, kernel   what was measured
--   shape_ratio     asked share of an expert's weights to the measured one; 1: that very shape
--   is_carried      seconds are not as measured, but carried from another GPU or shape by what peak rates differ in
-- Where a skewed router was asked for and only a balanced one measured, macros.skew_ratio has been applied.
--   select tokens, seconds, kernel from macros.expert_curve('H100', 'vllm', '0.24.0', 'fp8', 2048, 768, 128, 8, 1, 1, 'balanced')
--   limit 3
create macro macros.expert_curve(
    of_gpu, of_engine, of_version, of_format, of_hidden, of_intermediate, of_experts, of_experts_per_token,
    of_tensor_parallel_size, of_expert_parallel_size, of_router
) as table
select * exclude (question)
from macros.expert_curves_of([{
    'gpu': of_gpu, 'engine': of_engine, 'version': of_version::varchar, 'format': of_format, 'hidden': of_hidden,
    'intermediate': of_intermediate, 'experts': of_experts, 'experts_per_token': of_experts_per_token,
    'tensor_parallel_size': of_tensor_parallel_size, 'expert_parallel_size': of_expert_parallel_size, 'router': of_router::varchar
}]);
