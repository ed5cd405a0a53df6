-- Measured times of multiplying by an n x k weight as curves over the tokens of a step, and one for any weight from the
-- measured ones around it.
-- group: kernels

-- All curves, built in and ingested: tokens and seconds are lists of the same length.
--   select gpu, format, n, k from macros.gemm_curves() limit 3
create macro macros.gemm_curves() as table
select
    'built in' as source,
    *
from seeds.gemm_curves
union all by name
select
    * exclude (shape, xs),
    unnest(shape),
    xs as tokens
from macros.measured_curves((
    select
        list({
            'source_id': source_id,
            'table_seq': table_seq,
            'shape': {
                'format': macros.kernel_format(format),
                'n': n,
                'k': k
            },
            'x': m,
            'kernel': kernel,
            'seconds': seconds
        })
    from raw.gemm_times
));

-- What peak rates allow for a multiplication: weights and activations in and out, and the arithmetic.
--   select macros.gemm_roof_s(64, 4096, 14336, 2, 3.35e12, 989e12)
create macro macros.gemm_roof_s(tokens, n, k, bytes_per_weight, hbm_bytes_per_s, flop_per_s) as
    (n::double * k * bytes_per_weight + 2 * tokens * (n + k)) / hbm_bytes_per_s
    + 2 * tokens * n::double * k / flop_per_s;

-- What each table of multiplications says of the memory: the line t = launch + bytes / (share * peak) through the times of few tokens,
-- where the weights are all that counts. Not bytes over time, because that holds the launch, which layer_s has already.
--   source, gpu, engine, engine_version, format   of the table
--   launch_s        that no bandwidth takes away, seconds
--   share_ratio     of the peak bandwidth that is reached; null: the slope says more than the peak, so the table did not measure the
--                   memory (it timed launches one by one, which CUDA graphs remove), and the fit is rejected
--   select gpu, engine_version, format, launch_s, share_ratio from macros.bandwidth_fits() limit 3
create macro macros.bandwidth_fits() as table
with points as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.format,
        curves.n::double * curves.k * peak.format[curves.format].bytes_per_weight as bytes,
        peak.gpu[curves.gpu].hbm_bytes_per_s as hbm_bytes_per_s,
        unnest(curves.tokens) as tokens,
        unnest(curves.seconds) as seconds
    from macros.gemm_curves() as curves
    cross join macros.peaks() as peak
),

lines as (
    select
        source,
        gpu,
        engine,
        engine_version,
        format,
        regr_intercept(seconds, bytes) as launch_s,
        1 / (regr_slope(seconds, bytes) * any_value(hbm_bytes_per_s)) as share_ratio
    from points
    where tokens <= 16
        and bytes between 2e6 and 4e8
    group by all
)

select * replace (case when share_ratio between 0 and 1 then share_ratio end as share_ratio)
from lines;

-- The share that a measured size has in x, which lies between two of them, along a logarithm.
--   select macros.log_share(64, 32, 128, 128)
create macro macros.log_share(x, below, above, size) as
    case
        when above = below then 1e0
        when size = above then ln(x::double / below) / ln(above::double / below)
        else 1 - ln(x::double / below) / ln(above::double / below)
    end;

-- Rows (tokens, seconds) of multiplying by an n x k weight, interpolated in logarithms between the up to four measured weights
-- around it, and carried to the GPU by what peak rates differ in; beyond the largest size as the peak rates say.
-- No rows: there is no table of that format, or none has weights near to this one.
--   tokens          of the step
--   seconds         on one GPU
--   from_gpu, from_engine, from_version, from_format, from_source, kernel   what was measured
--   shapes          measured weights that it comes of; 1: that very one, or the nearest to one that is beyond all
--   is_carried      from another GPU, or beyond the largest or smallest size
--   select tokens, seconds, shapes from macros.gemm_curve('H100', 'vllm', '0.24.0', 'bf16', 4096, 14336) limit 3
create macro macros.gemm_curve(of_gpu, of_engine, of_version, of_format, of_n, of_k) as table
with tables as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.format,
        coalesce(max(curves.n) filter (where curves.n <= of_n), min(curves.n)) as n_below,
        coalesce(min(curves.n) filter (where curves.n >= of_n), max(curves.n)) as n_above,
        coalesce(max(curves.k) filter (where curves.k <= of_k), min(curves.k)) as k_below,
        coalesce(min(curves.k) filter (where curves.k >= of_k), max(curves.k)) as k_above
    from macros.gemm_curves() as curves
    where macros.format_family(curves.format) = macros.format_family(of_format)
    group by all
),

-- The asked weight, or what is nearest to it within the table, with the measured weights around it.
weighed as (
    select
        tables.* exclude (n_below, n_above, k_below, k_above),
        greatest(tables.n_below, least(tables.n_above, of_n)) as n,
        greatest(tables.k_below, least(tables.k_above, of_k)) as k,
        list({'n': curves.n, 'k': curves.k, 'kernel': curves.kernel, 'tokens': curves.tokens, 'seconds': curves.seconds}) as corners
    from tables
    inner join macros.gemm_curves() as curves using (source, gpu, engine, engine_version, format)
    where curves.n in (tables.n_below, tables.n_above)
        and curves.k in (tables.k_below, tables.k_above)
    group by all
),

nearest as (
    select
        macros.nearest_curve(
            weighed, macros.kernel_distance(weighed, weighed.format, of_engine, of_format, of_gpu, of_version, peak)
        ) as found
    from weighed
    cross join macros.peaks() as peak
    where macros.is_portable(weighed.gpu, of_gpu, peak)
        and greatest(of_n::double / weighed.n, weighed.n::double / of_n) * greatest(of_k::double / weighed.k, weighed.k::double / of_k) <= 4
),

points as (
    select
        nearest.found,
        corners.corner.n as n,
        corners.corner.k as k,
        corners.corner.kernel as kernel,
        unnest(corners.corner.tokens) as tokens,
        unnest(corners.corner.seconds) as measured_s
    from nearest
    cross join unnest(nearest.found.corners) as corners (corner)
),

shares as (
    select
        points.*,
        macros.log_share(points.found.n, min(points.n) over (partition by points.tokens), max(points.n) over (partition by points.tokens), points.n)
        * macros.log_share(points.found.k, min(points.k) over (partition by points.tokens), max(points.k) over (partition by points.tokens), points.k)
            as share
    from points
),

interpolated as (
    select
        shares.found,
        shares.tokens,
        string_agg(distinct shares.kernel, ' ' order by shares.kernel) as kernel,
        count(*) as shapes,
        -- Where one of four is missing, what the others lack or have too much is made up by the peak rates.
        exp(
            sum(shares.share * ln(
                shares.measured_s
                * macros.gemm_roof_s(shares.tokens, shares.found.n, shares.found.k, 2, 3e12, 1e15)
                / macros.gemm_roof_s(shares.tokens, shares.n, shares.k, 2, 3e12, 1e15)
            )) / sum(shares.share)
        ) as measured_s
    from shares
    where shares.share > 0
    group by all
)

select
    interpolated.tokens,
    macros.carried_s(
        interpolated.measured_s,
        interpolated.found.gpu = of_gpu and interpolated.found.n = of_n and interpolated.found.k = of_k,
        macros.gemm_roof_s(
            interpolated.tokens, of_n, of_k,
            peak.format[interpolated.found.format].bytes_per_weight, peak.gpu[of_gpu].hbm_bytes_per_s,
            macros.format_flop_per_s(peak.gpu[of_gpu], peak.format[interpolated.found.format].compute)
        ),
        macros.gemm_roof_s(
            interpolated.tokens, interpolated.found.n, interpolated.found.k,
            peak.format[interpolated.found.format].bytes_per_weight, peak.gpu[interpolated.found.gpu].hbm_bytes_per_s,
            macros.format_flop_per_s(peak.gpu[interpolated.found.gpu], peak.format[interpolated.found.format].compute)
        )
    ) as seconds,
    interpolated.found.gpu as from_gpu,
    interpolated.found.engine as from_engine,
    interpolated.found.engine_version as from_version,
    interpolated.found.format as from_format,
    interpolated.found.source as from_source,
    interpolated.kernel,
    interpolated.shapes,
    interpolated.found.gpu <> of_gpu or interpolated.found.n <> of_n or interpolated.found.k <> of_k as is_carried
from interpolated
cross join macros.peaks() as peak;
