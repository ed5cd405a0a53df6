-- One row per GPU and list of prices: what an hour of it is rented for, to compare the cost of an answer with its speed.
-- Prices move: take your own in with "tidemark ingest".
-- group: money
-- gpu               name in seeds.gpus
-- usd_per_gpu_hour  US dollars for an hour of one GPU
-- label             whose price, and when
-- source            where it was read
create table seeds.prices (
    gpu varchar not null,
    usd_per_gpu_hour double not null,
    label varchar not null,
    source varchar not null,
    primary key (gpu, label)
);
