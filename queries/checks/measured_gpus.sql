-- A built-in GPU is marked as measured exactly where a built-in kernel table or a constant from kernel tables is of it, and each has a row in
-- seeds.gpu_families.
-- group: trust
-- gpu           name in seeds.gpus
-- is_measured   as the catalogue has it; null where seeds.gpu_families has no row of it
select
    gpus.gpu,
    gpu_families.is_measured
from seeds.gpus
left join seeds.gpu_families on gpu_families.gpu = gpus.gpu
where gpu_families.is_measured is distinct from (gpus.gpu in (
    select gemm_curves.gpu from seeds.gemm_curves
    union
    select attention_curves.gpu from seeds.attention_curves
    union
    select mla_curves.gpu from seeds.mla_curves
    union
    select expert_curves.gpu from seeds.expert_curves
    union
    select all_reduce_curves.gpu from seeds.all_reduce_curves
    union
    select constants.gpu from seeds.constants
    where constants.source like 'kernel tables%'
))
