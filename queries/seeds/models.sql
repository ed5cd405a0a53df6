-- One row per model, by the fields of its config.json. What can be worked out
-- from them (parameters, bytes) is not kept here: see the macros.
-- model                what --catalog-model takes, in any case
-- aliases              other names for the same weights, separated by ';'
-- layers               transformer layers
-- hidden               hidden size
-- query_heads          attention heads
-- kv_heads             key and value heads
-- head_dim             size of one head
-- intermediate         width of the gated MLP of a dense layer; 0 where every layer has experts
-- vocab                rows of the embedding table
-- experts              experts in a layer; 0: dense
-- experts_per_token    experts that one token goes through
-- expert_intermediate  width of one expert
-- window_tokens        sliding window, tokens; null: every layer sees the whole context
-- windowed_layers      layers that have that window
-- is_tied              the output head is the embedding table
-- native_format        the format its weights are published in: a name in seeds.formats
-- published_params     parameters as published or as derived by others, to check the macros with
-- source               where the fields were read
create table seeds.models (
    model varchar primary key,
    aliases varchar,
    layers bigint not null,
    hidden bigint not null,
    query_heads bigint not null,
    kv_heads bigint not null,
    head_dim bigint not null,
    intermediate bigint not null,
    vocab bigint not null,
    experts bigint not null,
    experts_per_token bigint not null,
    expert_intermediate bigint not null,
    window_tokens bigint,
    windowed_layers bigint not null,
    is_tied boolean not null,
    native_format varchar not null,
    published_params double not null,
    source varchar not null
);
