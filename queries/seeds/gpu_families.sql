-- One row per built-in GPU: what it is like, and whether kernels were timed on it.
-- group: model
-- gpu           name in seeds.gpus
-- vendor        who makes it
-- family        GPUs of one architecture: what is measured on one says most about the others
-- is_measured   kernels were timed on this very GPU: in a built-in kernel table, or for a constant
create table seeds.gpu_families (
    gpu varchar primary key,
    vendor varchar not null,
    family varchar not null,
    is_measured boolean not null
);
