-- One row per GPU that the bandwidth model knows. Rates are dense (datasheets
-- print twice as much, with sparsity); bandwidth is the peak of one GPU.
-- group: model
-- gpu                  what --gpu takes, spelled as macros.gpu_spelling reads it
-- aliases              other names for the same GPU, as nvidia-smi gives them and without vendor, separated by ';'
-- memory_bytes         what the driver reports, bytes; 1-7 % from the number on the box
-- hbm_bytes_per_s      peak memory bandwidth, bytes/s
-- bf16_flop_per_s      peak dense rate in BF16 and FP16, FLOP/s
-- fp8_flop_per_s       the same in FP8, FLOP/s; null where the GPU has none
-- fp4_flop_per_s       the same in FP4, FLOP/s; null where the GPU has none
-- link                 'nvlink', or 'pcie' where GPUs meet over PCIe only
-- source               where the numbers are from
create table seeds.gpus (
    gpu varchar primary key,
    aliases varchar,
    memory_bytes double not null,
    hbm_bytes_per_s double not null,
    bf16_flop_per_s double not null,
    fp8_flop_per_s double,
    fp4_flop_per_s double,
    link varchar not null,
    source varchar not null
);
