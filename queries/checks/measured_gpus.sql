-- A built-in GPU is marked as measured exactly where a built-in kernel table or a constant from kernel tables is of it.
-- group: trust
-- gpu           name in seeds.gpus
-- is_measured   as the catalogue has it
select
    gpu_families.gpu,
    gpu_families.is_measured
from seeds.gpu_families
where gpu_families.is_measured <> (gpu_families.gpu in (
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
