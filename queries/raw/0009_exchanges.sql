-- Migration 9: collectives in which GPUs exchange tokens: each replica's tokens to the experts of all, and back.

create table raw.exchange_times (
    source_id bigint not null,
    table_seq integer not null,         -- where: seq of raw.kernel_tables
    operation varchar not null,         -- all_gather, reduce_scatter, all_to_all; all_reduce of the same library
    kernel varchar not null,            -- which implementation
    gpus bigint not null,
    message_bytes bigint not null,      -- of the larger buffer of one GPU
    seconds double not null
);
comment on table raw.exchange_times is 'Measured: one exchange of tokens between GPUs.';
