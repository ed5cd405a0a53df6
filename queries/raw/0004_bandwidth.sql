-- Migration 4: measured kernel times, models, GPUs and prices that users add, constants fitted to runs.

-- What a file of kernel times says of where they were measured: one row per GPU and version in it.
create table raw.kernel_tables (
    source_id bigint not null,
    seq integer not null,               -- 0-based place in the file; the times name it as table_seq
    gpu varchar not null,               -- as the file says it: NVIDIA H100 80GB HBM3
    engine varchar not null,            -- that the kernels are of, in small letters: vllm
    engine_version varchar not null
);
comment on table raw.kernel_tables is 'Which GPU and engine a file of measured kernel times is of.';

-- Multiplying m tokens by an n x k weight.
create table raw.gemm_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    format varchar not null,            -- of the multiplication, as the file says it: bfloat16, fp8, fp8_block
    kernel varchar not null,            -- which implementation
    m bigint not null,
    n bigint not null,
    k bigint not null,
    seconds double not null
);
comment on table raw.gemm_times is 'Measured: multiplying m tokens by an n x k weight.';

-- All experts of one layer on one GPU.
create table raw.expert_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    format varchar not null,            -- bfloat16, fp8, fp8_block, int4_wo, w4a16_mxfp4
    kernel varchar not null,            -- which implementation
    router varchar not null,            -- how tokens spread over experts: balanced, power_law_1.01
    tokens bigint not null,             -- of the step
    hidden bigint not null,
    intermediate bigint not null,       -- of one expert, before it is shared by tensor_parallel_size
    experts bigint not null,
    experts_per_token bigint not null,
    tensor_parallel_size bigint not null,
    expert_parallel_size bigint not null,
    seconds double not null
);
comment on table raw.expert_times is 'Measured: all experts of one layer on one GPU.';

-- Attention of one layer on one GPU.
create table raw.attention_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    phase varchar not null,             -- decode or prefill
    kernel varchar not null,
    kv_format varchar not null,
    batch bigint not null,              -- sequences
    new_tokens bigint not null,         -- of each: 1 in decode
    past_tokens bigint not null,        -- in the cache before these, of each
    query_heads bigint not null,        -- on this GPU
    kv_heads bigint not null,
    head_dim bigint not null,
    window_tokens bigint,               -- null: the whole context
    seconds double not null
);
comment on table raw.attention_times is 'Measured: attention of one layer on one GPU.';

-- A whole attention block with a latent cache, its matrices with it.
create table raw.mla_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    phase varchar not null,
    kernel varchar not null,
    model varchar not null,             -- as the file says it
    format varchar not null,            -- of its matrices
    kv_format varchar not null,
    query_heads bigint not null,        -- on this GPU
    batch bigint not null,
    new_tokens bigint not null,
    past_tokens bigint not null,
    seconds double not null
);
comment on table raw.mla_times is 'Measured: a whole attention block with a latent cache.';

create table raw.all_reduce_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    kernel varchar not null,            -- which implementation
    gpus bigint not null,
    is_graph boolean not null,          -- under CUDA graphs; else launched one by one
    message_bytes bigint not null,
    seconds double not null
);
comment on table raw.all_reduce_times is 'Measured: one all-reduce between GPUs.';

-- A model by its config.json.
create table raw.model_configs (
    source_id bigint not null,
    model varchar not null,             -- what the user calls it
    config varchar not null,            -- JSON: the keys that the bandwidth model reads, and no others
    spec varchar not null               -- JSON: what macros.model_text makes of it; made anew when that changes
);
comment on table raw.model_configs is 'A model by its config.json.';

-- GPUs that users add, with the columns of seeds.gpus.
create table raw.gpus (
    source_id bigint not null,
    gpu varchar not null,
    aliases varchar,
    memory_bytes double not null,
    hbm_bytes_per_s double not null,
    bf16_flop_per_s double not null,
    fp8_flop_per_s double,
    fp4_flop_per_s double,
    link varchar not null
);
comment on table raw.gpus is 'GPUs that users add.';

-- What an hour of a GPU costs whoever asks.
create table raw.prices (
    source_id bigint not null,
    gpu varchar not null,
    usd_per_gpu_hour double not null,
    label varchar                       -- whose price
);
comment on table raw.prices is 'Prices that users add.';

-- Constants of one deployment, fitted to runs of it. One row per constant.
create table raw.calibrations (
    calibration_id bigint not null,
    run_id varchar not null,            -- the first run that it was fitted to
    run_ids varchar not null,           -- all of them, separated by ' '
    made_at timestamp not null,
    gpu varchar not null,               -- names in the seeds, as are those that follow
    model varchar not null,
    tensor_parallel_size bigint not null,
    weight_format varchar not null,
    kv_format varchar not null,
    engine varchar not null,
    engine_version varchar,
    name varchar not null,              -- of the constant, as in seeds.constants
    format varchar not null,            -- that it is for, '*' for all
    value double not null,
    low double not null,                -- 90 % interval
    high double not null,
    before double not null,             -- what was used without it
    requests bigint not null            -- measured ones that it was fitted to
);
comment on table raw.calibrations is 'Constants of one deployment, fitted to runs of it.';
