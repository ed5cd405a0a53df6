-- Measured times of a whole attention block with a latent cache, its matrices with it, as curves over the context, and
-- the one nearest to a model's.
-- group: kernels

-- All curves, built in and ingested: contexts (tokens) and seconds are lists of the same length.
--   select phase, gpu, format, query_heads from macros.mla_curves() limit 3
create macro macros.mla_curves() as table
select
    'built in' as source,
    *
from seeds.mla_curves
union all by name
select
    * exclude (shape, xs),
    unnest(shape),
    xs as contexts
from macros.measured_curves((
    select
        list({
            'source_id': source_id,
            'table_seq': table_seq,
            'shape': {
                'phase': phase,
                'model': model,
                'format': macros.kernel_format(format),
                'kv_format': macros.kernel_format(kv_format),
                'query_heads': query_heads,
                'batch': batch
            },
            'x': new_tokens + past_tokens,
            'kernel': kernel,
            'seconds': seconds
        })
    from raw.mla_times
    -- Prefill behind a cached prefix is another curve, which nothing here asks for.
    where phase = 'decode' or past_tokens = 0
));

-- Rows (batch, context, seconds) of a whole block with as many heads on a GPU: its projections, and attention over the latent
-- cache. of_phase is decode or prefill. To another GPU it is carried by the ratio of their bandwidths, in prefill of their
-- arithmetic. No rows: no table has so many heads with that format of the cache.
--   batch           sequences
--   context         tokens of each, the new ones with them
--   seconds         on one GPU
--   from_gpu, from_engine, from_version, from_format, from_source, from_model, kernel   what was measured
--   is_carried      from another GPU
--   select batch, context, seconds from macros.mla_curve('decode', 'H100', 'vllm', '0.24.0', 'bf16', 'bf16', 16) limit 3
create macro macros.mla_curve(of_phase, of_gpu, of_engine, of_version, of_format, of_kv_format, of_query_heads) as table
with near as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.model,
        curves.format,
        string_agg(distinct curves.kernel, ' ' order by curves.kernel) as kernel,
        list({'batch': curves.batch, 'contexts': curves.contexts, 'seconds': curves.seconds}) as curves
    from macros.mla_curves() as curves
    where curves.phase = of_phase
        and curves.kv_format = of_kv_format
        and curves.query_heads = of_query_heads
        and macros.format_family(curves.format) = macros.format_family(of_format)
    group by all
),

nearest as (
    select
        macros.nearest_curve(
            near, macros.kernel_distance(near, near.format, of_engine, of_format, of_gpu, of_version, peak)
        ) as found
    from near
    cross join macros.peaks() as peak
    where macros.is_portable(near.gpu, of_gpu, peak)
),

points as (
    select
        nearest.found,
        batches.curve.batch as batch,
        unnest(batches.curve.contexts) as context,
        unnest(batches.curve.seconds) as measured_s
    from nearest
    cross join unnest(nearest.found.curves) as batches (curve)
)

select
    points.batch,
    points.context,
    points.measured_s * case
        when points.found.gpu = of_gpu then 1e0
        when of_phase = 'decode' then peak.gpu[points.found.gpu].hbm_bytes_per_s / peak.gpu[of_gpu].hbm_bytes_per_s
        else peak.gpu[points.found.gpu].bf16_flop_per_s / peak.gpu[of_gpu].bf16_flop_per_s
    end as seconds,
    points.found.gpu as from_gpu,
    points.found.engine as from_engine,
    points.found.engine_version as from_version,
    points.found.format as from_format,
    points.found.source as from_source,
    points.found.model as from_model,
    points.found.kernel as kernel,
    points.found.gpu <> of_gpu as is_carried
from points
cross join macros.peaks() as peak;
