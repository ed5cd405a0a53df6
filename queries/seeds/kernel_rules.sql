-- One row per rule that puts a kernel into a category: the first whose pattern is found in its name counts.
-- group: server
-- seq         place in the order
-- category    attention, moe experts, gemm, nccl, norm/elementwise, sampling or memcpy
-- pattern     regular expression (RE2), found anywhere in the name
-- source      whose kernels these are
create table seeds.kernel_rules (
    seq integer primary key,
    category varchar not null,
    pattern varchar not null,
    source varchar not null
);
