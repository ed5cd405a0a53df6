-- The rows of macros.expert_curves().
with curves as (
    select
        'built in' as source,
        *
    from seeds.expert_curves
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
                    'router': router,
                    'hidden': hidden,
                    'intermediate': intermediate,
                    'experts': experts,
                    'experts_per_token': experts_per_token,
                    'tensor_parallel_size': tensor_parallel_size,
                    'expert_parallel_size': expert_parallel_size
                },
                'x': tokens,
                'kernel': kernel,
                'seconds': seconds
            })
        from raw.expert_times
    ))
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
    )
    -- Whole experts shared out over GPUs that take as long as all of them on one were not shared out.
    or coalesce(
        expert_parallel_size > 1
        and seconds[list_position(tokens, 64)] > 0.9e0 * min(case when expert_parallel_size = 1 then seconds[list_position(tokens, 64)] end) over (
            partition by
                source, gpu, engine, engine_version, format, router, hidden, intermediate, experts, experts_per_token,
                tensor_parallel_size
        ),
        false
    ) as is_doubtful
from curves;
