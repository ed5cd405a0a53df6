-- The rows of macros.all_reduce_curves().
select
    'built in' as source,
    'all_reduce' as operation,
    *
from seeds.all_reduce_curves
union all by name
select
    * exclude (shape, xs),
    unnest(shape),
    xs as message_bytes
from macros.measured_curves((
    select
        list({
            'source_id': source_id,
            'table_seq': table_seq,
            'shape': {
                'operation': operation,
                'gpus': gpus,
                'is_graph': is_graph
            },
            'x': message_bytes,
            'kernel': kernel,
            'seconds': seconds
        })
    from (
        select
            source_id,
            table_seq,
            'all_reduce' as operation,
            gpus,
            is_graph,
            message_bytes,
            kernel,
            seconds
        from raw.all_reduce_times
        union all
        select
            source_id,
            table_seq,
            'gather_scatter',
            gpus,
            false,
            message_bytes,
            min(kernel),
            (min(seconds) filter (where operation = 'all_gather') + min(seconds) filter (where operation = 'reduce_scatter')) / 2
        from raw.exchange_times
        where operation in ('all_gather', 'reduce_scatter')
        group by all
        having count(distinct operation) = 2
        union all
        select
            source_id,
            table_seq,
            operation,
            gpus,
            false,
            message_bytes,
            kernel,
            seconds
        from raw.exchange_times
        where operation = 'all_to_all'
    ) as collectives
));
