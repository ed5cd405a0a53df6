-- Measured times of attention of one layer as curves over the context, and the one nearest to a model's heads.
-- group: kernels

-- All curves, built in and ingested: contexts (tokens) and seconds are lists of the same length.
--   select phase, gpu, kv_format, batch from macros.attention_curves() limit 3
create macro macros.attention_curves() as table
select
    'built in' as source,
    *
from seeds.attention_curves
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
                'kv_format': macros.kernel_format(kv_format),
                'query_heads': query_heads,
                'kv_heads': kv_heads,
                'head_dim': head_dim,
                'window_tokens': window_tokens,
                'batch': batch
            },
            'x': new_tokens + past_tokens,
            'kernel': kernel,
            'seconds': seconds
        })
    from raw.attention_times
    -- Prefill behind a cached prefix is another curve, which nothing here asks for.
    where phase = 'decode' or past_tokens = 0
));

-- What peak rates allow for attention of one layer: reading the KV cache, and the arithmetic of query-key pairs.
--   select macros.attention_roof_s('decode', 32, 4096, null, 32, 8, 128, 2, 3.35e12, 989e12)
create macro macros.attention_roof_s(phase, batch, context, window_tokens, query_heads, kv_heads, head_dim, kv_bytes, hbm_bytes_per_s, flop_per_s) as
    batch::double * least(context, coalesce(window_tokens, context)) * 2 * kv_heads * head_dim * kv_bytes / hbm_bytes_per_s
    + case when phase = 'decode' then 0e0
        else 4 * batch::double * query_heads * head_dim
            * (context::double * least(context, coalesce(window_tokens, context)) - pow(least(context, coalesce(window_tokens, context)), 2) / 2)
            / flop_per_s
    end;

-- Rows (batch, context, seconds) of attention of one layer with the nearest heads, carried to what was asked for by what peak
-- rates differ in. of_phase is decode or prefill; heads are those of one GPU. No rows: no table of that format of
-- the KV cache has heads near to these (the same size within 2 times, KV heads within 4 times). Where a window was not
-- measured, its rows are those of the whole context up to it: from there on the time stays.
--   batch           sequences
--   context         tokens of each, the new ones with them
--   seconds         on one GPU
--   from_gpu, from_engine, from_version, from_source, kernel   what was measured
--   from_query_heads, from_kv_heads, from_head_dim, from_window_tokens   of which heads
--   is_carried      from another GPU or other heads
--   select batch, context, seconds from macros.attention_curve('decode', 'H100', 'vllm', '0.24.0', 'bf16', 32, 8, 128, null) limit 3
create macro macros.attention_curve(
    of_phase, of_gpu, of_engine, of_version, of_kv_format, of_query_heads, of_kv_heads, of_head_dim, of_window_tokens
) as table
with near as (
    select
        curves.source,
        curves.gpu,
        curves.engine,
        curves.engine_version,
        curves.kv_format,
        curves.query_heads,
        curves.kv_heads,
        curves.head_dim,
        curves.window_tokens,
        string_agg(distinct curves.kernel, ' ' order by curves.kernel) as kernel,
        list({'batch': curves.batch, 'contexts': curves.contexts, 'seconds': curves.seconds}) as curves
    from macros.attention_curves() as curves
    where curves.phase = of_phase
        and curves.kv_format = of_kv_format
        and (curves.window_tokens is null or curves.window_tokens = of_window_tokens)
        and greatest(curves.head_dim / of_head_dim::double, of_head_dim / curves.head_dim::double) <= 2
        and greatest(curves.kv_heads / of_kv_heads::double, of_kv_heads / curves.kv_heads::double) <= 4
    group by all
),

nearest as (
    select
        macros.nearest_curve(
            near,
            macros.kernel_distance(near, near.kv_format, of_engine, of_kv_format, of_gpu, of_version, peak)
            -- Decoding reads keys and values: their number counts most. Other heads are further than another GPU.
            + 1e6 * case when near.window_tokens is distinct from of_window_tokens then 1e0 else 0e0 end
            + 1e6 * (
                3 * abs(ln(near.head_dim / of_head_dim::double))
                + 3 * abs(ln(near.kv_heads / of_kv_heads::double))
                + abs(ln(near.query_heads / of_query_heads::double)) * case when of_phase = 'decode' then 0.3e0 else 3e0 end
            )
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
    macros.carried_s(
        points.measured_s,
        points.found.gpu = of_gpu and points.found.query_heads = of_query_heads and points.found.kv_heads = of_kv_heads
            and points.found.head_dim = of_head_dim,
        macros.attention_roof_s(
            of_phase, points.batch, points.context, of_window_tokens, of_query_heads, of_kv_heads, of_head_dim,
            peak.format[of_kv_format].kv_bytes, peak.gpu[of_gpu].hbm_bytes_per_s, peak.gpu[of_gpu].bf16_flop_per_s
        ),
        macros.attention_roof_s(
            of_phase, points.batch, points.context, of_window_tokens, points.found.query_heads, points.found.kv_heads, points.found.head_dim,
            peak.format[of_kv_format].kv_bytes, peak.gpu[points.found.gpu].hbm_bytes_per_s, peak.gpu[points.found.gpu].bf16_flop_per_s
        )
    ) as seconds,
    points.found.gpu as from_gpu,
    points.found.engine as from_engine,
    points.found.engine_version as from_version,
    points.found.source as from_source,
    points.found.kernel as kernel,
    points.found.query_heads as from_query_heads,
    points.found.kv_heads as from_kv_heads,
    points.found.head_dim as from_head_dim,
    points.found.window_tokens as from_window_tokens,
    points.found.gpu <> of_gpu or points.found.query_heads <> of_query_heads or points.found.kv_heads <> of_kv_heads
        or points.found.head_dim <> of_head_dim as is_carried
from points
cross join macros.peaks() as peak
where points.found.window_tokens is not null or points.context <= coalesce(of_window_tokens, points.context);

-- macros.attention_curve of decoding: rows (batch, context in tokens, seconds) of one layer on one GPU.
--   select batch, context, seconds from macros.decode_attention_curve('H100', 'vllm', '0.24.0', 'bf16', 32, 8, 128, null) limit 3
create macro macros.decode_attention_curve(
    of_gpu, of_engine, of_version, of_kv_format, of_query_heads, of_kv_heads, of_head_dim, of_window_tokens
) as table
select *
from macros.attention_curve(
    'decode', of_gpu, of_engine, of_version, of_kv_format, of_query_heads, of_kv_heads, of_head_dim, of_window_tokens
);

-- macros.attention_curve of prefill: rows (batch, context in tokens, seconds) of one layer on one GPU.
--   select batch, context, seconds from macros.prefill_attention_curve('H100', 'vllm', '0.24.0', 'bf16', 32, 8, 128, null) limit 3
create macro macros.prefill_attention_curve(
    of_gpu, of_engine, of_version, of_kv_format, of_query_heads, of_kv_heads, of_head_dim, of_window_tokens
) as table
select *
from macros.attention_curve(
    'prefill', of_gpu, of_engine, of_version, of_kv_format, of_query_heads, of_kv_heads, of_head_dim, of_window_tokens
);
