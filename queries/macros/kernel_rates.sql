-- What tables of kernel times that a user took in say of the rates of a GPU: of its memory for weights, for the KV cache and for a latent
-- cache. Each is the constant of that name, and goes before the built-in one on that very GPU; all-reduce and experts, whose time is no
-- straight line, are curves of their own (all_reduce_curve.sql, expert_curve.sql). Arithmetic stays the law's: with the slopes of the
-- built-in GEMM tables in its place, predictions that nothing was fitted to are worse (docs/accuracy.md), because tables of FP8 time its
-- quantizing, too, and one version takes twice as long as another.
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

-- The constants that ingested tables make, as rows of macros.constants; measured_with is the engine of the table. A latent cache is that
-- of the architectures that have one.
--   select count(*) as rates from macros.ingested_rates()
create macro macros.ingested_rates() as table
select * from warehouse.rates;
