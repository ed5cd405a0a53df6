-- One row per number format of weights or of the KV cache.
-- group: model
-- format              what --quantization and --kv-cache-dtype take, in any case
-- aliases             other names, separated by ';'
-- bytes_per_weight    bytes a weight, its share of scales and zeros included
-- compute             the precision its matrices are multiplied in on GPUs that have it: bf16, fp8 or fp4
-- covers              'all': attention, MLP and experts; 'experts': experts alone. Embedding, output head, norms and router stay in 16 bits
-- kv_bytes            bytes of one element where the format serves as that of the KV cache; null where it does not
-- source              where that is from
create table seeds.formats (
    format varchar primary key,
    aliases varchar,
    bytes_per_weight double not null,
    compute varchar not null,
    covers varchar not null,
    kv_bytes double,
    source varchar not null
);
