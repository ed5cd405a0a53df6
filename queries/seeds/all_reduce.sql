-- One row per measured all-reduce: vLLM's custom all-reduce under CUDA graphs.
-- Eager mode costs at least 20 us more.
-- group: kernels
-- gpus             GPUs that take part
-- message_bytes    bytes that each of them holds
-- seconds          time of one all-reduce, seconds
-- source           where it was measured
create table seeds.all_reduce (
    gpus bigint not null,
    message_bytes double not null,
    seconds double not null,
    source varchar not null
);
