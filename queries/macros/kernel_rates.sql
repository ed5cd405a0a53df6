-- What tables of kernel times that a user took in say of the rates of a GPU: of its memory for weights, for the KV cache and for a latent
-- cache, and of its arithmetic. Each is the constant of that name, and goes before the built-in one on that very GPU; all-reduce and
-- experts, whose time is no straight line, are curves of their own (all_reduce_curve.sql, expert_curve.sql).
-- group: kernels

-- What each table of attention says of the memory, as macros.bandwidth_fits does of multiplications: the slope of the time over the bytes
-- of cache that decoding reads, because the launch is in layer_s already. A latent cache has 576 elements a token (kv_lora 512 and 64 of
-- the position, in all models that are published), and is taken at 32 heads and fewer: with more of them it is bound by arithmetic.
--   source, gpu, engine, engine_version   of the table
--   is_latent      of a latent cache
--   format         of the cache, name in seeds.formats
--   share_ratio    of the peak bandwidth that is reached; null: the slope says more than the peak, and the fit is rejected
--   select gpu, engine_version, is_latent, format, share_ratio from macros.cache_fits() limit 3
create macro macros.cache_fits() as table
with points as (
    select
        source,
        gpu,
        engine,
        engine_version,
        false as is_latent,
        kv_format as format,
        2e0 * batch * kv_heads * head_dim as token_elements,
        unnest(contexts) as context,
        unnest(seconds) as seconds
    from macros.attention_curves()
    where phase = 'decode'
        and window_tokens is null
    union all by name
    select
        source,
        gpu,
        engine,
        engine_version,
        true as is_latent,
        kv_format as format,
        576e0 * batch as token_elements,
        -- A block holds its matrices, too: of each batch only what grows with the context is the cache.
        unnest(list_transform(contexts, lambda one: one - contexts[1])) as context,
        unnest(list_transform(seconds, lambda one: one - seconds[1])) as seconds
    from macros.mla_curves()
    where phase = 'decode'
        and query_heads <= 32
),

lines as (
    select
        points.source,
        points.gpu,
        points.engine,
        points.engine_version,
        points.is_latent,
        points.format,
        1 / (
            regr_slope(points.seconds, points.token_elements * points.context * peak.format[points.format].kv_bytes)
            * any_value(peak.gpu[points.gpu].hbm_bytes_per_s)
        ) as share_ratio
    from points
    cross join macros.peaks() as peak
    group by all
)

select * replace (case when share_ratio between 0 and 1 then share_ratio end as share_ratio)
from lines;

-- What each table of multiplications says of the arithmetic: for each weight of 2 MB and more the slope of the time over what the peak
-- rate needs, in steps of 2,048 tokens and more, and of these the median, because one bad size bends a line through all. The peak is that of the precision which the format is multiplied in.
--   source, gpu, engine, engine_version, format   of the table
--   share_ratio    of the peak that is reached; null: the slope says more than the peak, and the fit is rejected
--   select gpu, engine_version, format, share_ratio from macros.arithmetic_fits() limit 3
create macro macros.arithmetic_fits() as table
with points as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.format,
        curves.n,
        curves.k,
        2e0 * curves.n * curves.k / macros.format_flop_per_s(peak.gpu[curves.gpu], peak.format[curves.format].compute) as token_s,
        unnest(curves.tokens) as tokens,
        unnest(curves.seconds) as seconds
    from macros.gemm_curves() as curves
    cross join macros.peaks() as peak
    -- Of AWQ or blocks of FP8 a table says what unpacking costs, too: the arithmetic of a precision is that of its plain format.
    where curves.format = peak.format[curves.format].compute
        and curves.n::double * curves.k * peak.format[curves.format].bytes_per_weight >= 2e6
),

weights as (
    select
        points.* exclude (token_s, tokens, seconds),
        1 / regr_slope(seconds, tokens * token_s) as reached_ratio
    from points
    where tokens >= 2048
    group by all
),

lines as (
    select
        source,
        gpu,
        engine,
        engine_version,
        format,
        median(reached_ratio) as share_ratio
    from weights
    group by all
)

select * replace (case when share_ratio between 0 and 1 then share_ratio end as share_ratio)
from lines;

-- The constants that ingested tables make, as rows of macros.constants; measured_with is the engine of the table. A latent cache is that
-- of the architectures that have one.
--   select count(*) as rates from macros.ingested_rates()
create macro macros.ingested_rates() as table
with fits as (
    select
        'weight_bandwidth_ratio' as name,
        '*' as architecture,
        * exclude (launch_s)
    from macros.bandwidth_fits()
    union all by name
    select
        'compute_ratio' as name,
        '*' as architecture,
        *
    from macros.arithmetic_fits()
    union all by name
    select
        'kv_bandwidth_ratio' as name,
        latent.architecture,
        cache.* exclude (is_latent)
    from macros.cache_fits() as cache
    inner join (
        select distinct
            case when is_mla then architecture else '*' end as architecture,
            is_mla
        from seeds.models
    ) as latent on latent.is_mla = cache.is_latent
)

select
    name,
    '*' as engine,
    engine_version,
    gpu,
    format,
    share_ratio as value,
    macros.curve_origin(engine, engine_version, gpu, false) as source,
    architecture,
    null as deployment,
    engine as measured_with
from fits
where source <> 'built in'
    and share_ratio is not null;
