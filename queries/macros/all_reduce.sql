-- group: kernels

-- Time of an all-reduce, as measured under CUDA graphs; degrees that were not measured
-- take the nearest one.
--   from macros.all_reduce_points(4) order by x limit 3
create macro macros.all_reduce_points(of_gpus) as table
select
    all_reduce.message_bytes as x,
    all_reduce.seconds
from seeds.all_reduce
where all_reduce.gpus = (
    select arg_min(measured.gpus, abs(measured.gpus - of_gpus))
    from seeds.all_reduce as measured
);
